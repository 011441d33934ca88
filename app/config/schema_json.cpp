// `steelyard help schema`, for editors.
#include <cmath>

#include "app/config/schema.h"
#include "core/json.h"

namespace steelyard {
namespace {

Json schema_of(const Key& key) {
  const Limits& limits = key.limits;
  Json schema{{"description", key.help + "\n" + allowed(key)}};
  std::visit(
      [&]<class Value>(const Value* value) {
        if constexpr (std::is_same_v<Value, std::string>) {
          schema["type"] = limits.may_be_number ? Json{"string", "number"} : Json("string");
          if (!limits.choices.empty()) schema["enum"] = limits.choices;
          if (!value->empty()) schema["default"] = *value;
        } else if constexpr (std::is_same_v<Value, bool>) {
          schema.update({{"type", "boolean"}, {"default", *value}});
        } else if constexpr (std::is_arithmetic_v<Value>) {
          schema["type"] = std::is_integral_v<Value> ? "integer" : "number";
          schema[limits.without_least ? "exclusiveMinimum" : "minimum"] = limits.least;
          if (std::isfinite(limits.most))
            schema[limits.without_most ? "exclusiveMaximum" : "maximum"] = limits.most;
          schema["default"] = *value;
        } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
          schema.update({{"type", "array"}, {"items", {{"type", "number"}}}});
          if (std::isfinite(limits.least)) schema["items"]["minimum"] = limits.least;
          schema.update({{"minItems", 1}, {"maxItems", limits.longest}});
        } else {
          schema["type"] = "object";
        }
      },
      key.field);
  if (key.example.empty()) return schema;
  schema.erase("default");
  Json example = parse_json(key.example);  // TOML that is JSON as well, but for tables
  if (!example.is_discarded()) schema["examples"] = Json::array({std::move(example)});
  return schema;
}

Json schema_of(const Section& section, const Schema& all) {
  using Kind = Section::Kind;
  Json properties = Json::object(), others = false;
  for (const Key& key : section.keys) {
    if (key.name.empty()) {
      others = section.kind == Kind::named ? Json{{"type", "object"}} : Json(true);
    } else {
      properties[key.name] = schema_of(key);
    }
  }
  for (const Section& it : all.sections) {
    if (it.name.starts_with(section.name + "."))
      properties[it.name.substr(section.name.size() + 1)] = schema_of(it, all);
  }
  const Json schema{{"type", "object"},
                    {"description", section.help},
                    {"properties", properties},
                    {"additionalProperties", others}};
  if (section.kind != Kind::list) return schema;
  return {{"type", "array"}, {"minItems", int{section.required}}, {"items", schema}};
}

}  // namespace

std::string json_schema(const Schema& schema) {
  Json properties = Json::object(), required = Json::array();
  for (const Section& section : schema.sections) {
    if (section.name.find('.') != std::string::npos) continue;
    properties[section.name] = schema_of(section, schema);
    if (section.required) required.push_back(section.name);
  }
  const Json whole{{"$schema", "http://json-schema.org/draft-07/schema#"},
                   {"title", schema.title},
                   {"type", "object"},
                   {"properties", properties},
                   {"required", required},
                   {"additionalProperties", false}};
  return dump_json(whole, 2) + "\n";
}

}  // namespace steelyard
