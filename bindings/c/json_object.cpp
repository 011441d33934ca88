#include "bindings/c/json_object.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "core/error.h"

namespace steelyard::c_api {

Json parse_object(const char* text, const std::string& name, const std::string& example) {
  Json json = text == nullptr ? Json(Json::value_t::discarded) : parse_json(text);
  if (json.is_discarded()) refuse_setup(name + " is not JSON: give an object such as " + example);
  return json;
}

JsonObject::JsonObject(const Json& json, std::string name, const std::vector<std::string>& known)
    : json_(json), name_(std::move(name)) {
  if (!json.is_object()) {
    refuse_setup(name_ + " is not a JSON object: give one with " + joined(known));
  }
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(known, key) == known.end())
      refuse_setup(name_ + " has no key \"" + key + "\"" + among(key, known));
  }
}

const Json* JsonObject::find(const std::string& key) const {
  const auto found = json_.find(key);
  return found == json_.end() ? nullptr : &*found;
}

void JsonObject::refuse(const std::string& key, const std::string& remedy) const {
  const Json* value = find(key);
  refuse_setup("\"" + key + "\" of " + name_ + (value == nullptr ? " is missing" : " is " + value->dump()) +
               ": give " + remedy);
}

std::string JsonObject::text(const std::string& key, std::string_view otherwise) const {
  const Json* value = find(key);
  if (value == nullptr) return std::string(otherwise);
  if (!value->is_string()) refuse(key, "a string in quotes");
  return value->get<std::string>();
}

std::uint64_t JsonObject::count(const std::string& key, std::uint64_t otherwise, std::uint64_t least) const {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() < least)
    refuse(key, "a whole number from " + std::to_string(least));
  return value->get<std::uint64_t>();
}

double JsonObject::number(const std::string& key, double otherwise, double least, double most) const {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_number() || !(value->get<double>() >= least && value->get<double>() <= most))
    refuse(key, "a number from " + dump_json(Json(least)) + " to " + dump_json(Json(most)));
  return value->get<double>();
}

namespace {

// The value as text on a command line; std::nullopt if it has the wrong type.
std::optional<std::string> text_of(const Key& key, const Json& value) {
  const bool is_text = std::holds_alternative<std::string*>(key.field);
  if (value.is_string() && is_text) return value.get<std::string>();
  if (value.is_boolean() == std::holds_alternative<bool*>(key.field) && !value.is_structured() &&
      !value.is_string() && (!is_text || key.limits.may_be_number)) {
    return dump_json(value);
  }
  return std::nullopt;
}

}  // namespace

void JsonObject::take(const Key& key) const {
  for (const std::string& name : {key.name, key.former}) {
    if (const Json* value = name.empty() ? nullptr : find(name)) {
      const auto text = text_of(key, *value);
      if (!text || !take_text(key, *text)) refuse(name, allowed(key));
      return;
    }
  }
  if (!key.elsewhere.of_scripts && !key.elsewhere.environment) return;
  for (const std::string& name : {key.name, key.former}) {
    const char* text = name.empty() ? nullptr : std::getenv(variable_name(name).c_str());
    if (text == nullptr || *text == '\0') continue;
    if (take_text(key, text)) return;
    refuse_setup(variable_name(name) + " = " + text + " in the environment: give " + allowed(key));
  }
}

DeviceKind kind_of(const JsonObject& keys) {
  const std::string kind = keys.text("kind", "cpu");
  if (std::ranges::find(device_kinds(), kind) == device_kinds().end())
    keys.refuse("kind", "one of " + joined(device_kinds()));
  return device_kind(kind);
}

}  // namespace steelyard::c_api
