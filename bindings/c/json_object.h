// JsonObject: the keys of a JSON object that a caller gave, read with errors that name key and object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/schema.h"
#include "core/device_name.h"
#include "core/json.h"

namespace steelyard::c_api {

// Throws Failure (configuration), as all below does. `example` shows what the text should have been.
Json parse_object(const char* text, const std::string& name, const std::string& example);

class JsonObject {
 public:
  // `json` outlives this; `name` is what messages call it. Keys that are not `known` are refused.
  JsonObject(const Json& json, std::string name, const std::vector<std::string>& known);

  // What is left out is `otherwise`.
  [[nodiscard]] std::string text(const std::string& key, std::string_view otherwise) const;
  [[nodiscard]] std::uint64_t count(const std::string& key, std::uint64_t otherwise,
                                    std::uint64_t least) const;
  [[nodiscard]] double number(const std::string& key, double otherwise, double least, double most) const;
  // Fills the key, from its variable in the environment if it is left out and has one (app/config/schema.h).
  void take(const Key& key) const;
  // Null if it is left out.
  [[nodiscard]] const Json* find(const std::string& key) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& remedy) const;

 private:
  const Json& json_;
  const std::string name_;
};

// "kind": "cpu", which it is if that is left out, or "gpu".
DeviceKind kind_of(const JsonObject& keys);

}  // namespace steelyard::c_api
