// JSON: nlohmann's value type. Its parser and writer, which compile slowly, are instantiated once here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace steelyard {

using Json = nlohmann::ordered_json;  // objects keep the order of insertion

// Parse a text. For invalid JSON, parse_json() returns a value with is_discarded() == true;
// parse_json_strictly() throws Json::parse_error (Json::out_of_range for a number that does not fit).
Json parse_json(std::string_view text);
Json parse_json_strictly(std::string_view text);

// The object's value under a key. If the key is missing or its value has another type: `otherwise`, or "".
double number_at(const Json& object, const char* key, double otherwise);
std::string text_at(const Json& object, const char* key);

// The value, or null if it is negative, which means unknown: readers that add values up then notice.
Json known_or_null(double value);

// On one line, or with one value a line, indented by `indent` blanks for each level. Invalid UTF-8 bytes
// become U+FFFD.
std::string dump_json(const Json& value, int indent = -1);

}  // namespace steelyard
