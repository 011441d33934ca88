#include "core/json.h"

namespace steelyard {

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

Json parse_json_strictly(std::string_view text) { return Json::parse(text); }

std::string dump_json(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace steelyard
