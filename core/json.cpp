#include "core/json.h"

namespace steelyard {

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

Json parse_json_strictly(std::string_view text) { return Json::parse(text); }

double number_at(const Json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Json known_or_null(double value) { return value < 0 ? Json() : Json(value); }

std::string dump_json(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace steelyard
