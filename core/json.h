// JSON: nlohmann's values, and the two of its functions that are slow to compile, behind one object.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace steelyard {

using Json = nlohmann::ordered_json;  // objects keep the order in which they were written

// The value that the text is. If it is no JSON: parse_json returns a value for which is_discarded() is true,
// parse_json_strictly throws Json::parse_error (or Json::out_of_range for a number that does not fit).
Json parse_json(std::string_view text);
Json parse_json_strictly(std::string_view text);

// What an object has under a key, if it is of this kind.
double number_at(const Json& object, const char* key, double otherwise);
std::string text_at(const Json& object, const char* key);  // otherwise ""

// A value that is not negative; null for one that is, as all unknown values are: a reader that adds them up
// notices.
Json known_or_null(double value);

// In one line, or a line for each value, with `indent` blanks for each level. Bytes that are no UTF-8 become
// U+FFFD.
std::string dump_json(const Json& value, int indent = -1);

}  // namespace steelyard
