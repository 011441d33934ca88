// JsonObject: reads the keys of a JSON object; errors name the key and the object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/schema.h"
#include "core/device_name.h"
#include "core/json.h"

namespace steelyard::c_api {

// Throws Failure (configuration), like all functions below. `example` is shown in the message.
Json parse_object(const char* text, const std::string& name, const std::string& example);

class JsonObject {
 public:
  // `json` must outlive this object; `name` is its name in messages. Throws for keys that are not in `known`.
  JsonObject(const Json& json, std::string name, const std::vector<std::string>& known);

  // Return `otherwise` if the key is missing.
  [[nodiscard]] std::string text(const std::string& key, std::string_view otherwise) const;
  [[nodiscard]] std::uint64_t count(const std::string& key, std::uint64_t otherwise,
                                    std::uint64_t least) const;
  [[nodiscard]] double number(const std::string& key, double otherwise, double least, double most) const;
  // Sets the key's field from the object or, if the key is missing there, from its environment variable if it
  // has one (app/config/schema.h).
  void take(const Key& key) const;
  // Null if the key is missing.
  [[nodiscard]] const Json* find(const std::string& key) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& remedy) const;

 private:
  const Json& json_;
  const std::string name_;
};

// The value of "kind": "cpu" (the default) or "gpu".
DeviceKind kind_of(const JsonObject& keys);

}  // namespace steelyard::c_api
