#include "config/job_schema.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/job_keys.h"

namespace steelyard {
namespace {

using Json = nlohmann::ordered_json;

void put_range(Json& schema, const JobLimits& limits) {
  schema[limits.above ? "exclusiveMinimum" : "minimum"] = limits.least;
  if (std::isfinite(limits.most)) schema[limits.below ? "exclusiveMaximum" : "maximum"] = limits.most;
}

Json schema_of(const JobKey& key) {
  JobDraft draft;
  const JobField field = key.field(draft);
  Json schema{{"description", std::string(key.help) + "\n" + allowed(key)}};
  if (auto* const* text = std::get_if<std::string*>(&field)) {
    schema["type"] = key.limits.accepts == nullptr ? Json("string") : Json{"string", "number"};
    if (!key.limits.choices.empty()) schema["enum"] = key.limits.choices;
    if (!(*text)->empty()) schema["default"] = **text;
    return schema;
  }
  schema["type"] = std::holds_alternative<double*>(field) ? "number" : "integer";
  put_range(schema, key.limits);
  std::visit([&](auto* value) { schema["default"] = *value; }, field);
  return schema;
}

Json schema_of(const JobSection& section) {
  const std::string name = section.name;
  Json properties = Json::object();
  for (const JobKey& key : job_keys()) {
    if (name == key.section) properties[key.name] = schema_of(key);
  }
  return {{"type", "object"},
          {"description", section.help},
          {"properties", properties},
          {"additionalProperties", section.options != nullptr}};
}

}  // namespace

std::string job_schema() {
  Json properties;
  for (const JobSection& section : job_sections()) {
    Json schema = schema_of(section);
    if (std::string(section.name) == "worker")
      schema = {{"type", "array"}, {"minItems", 1}, {"items", schema}};
    properties[section.name] = schema;
  }
  properties["policy"] = {{"type", "object"},
                          {"description", "options of policies, each in a section of its own"},
                          {"additionalProperties", {{"type", "object"}}}};
  const Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                    {"title", "a job of steelyard"},
                    {"type", "object"},
                    {"properties", properties},
                    {"required", {"worker"}},
                    {"additionalProperties", false}};
  return schema.dump(2) + "\n";
}

}  // namespace steelyard
