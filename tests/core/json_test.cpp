// JSON from other processes and from files: invalid JSON is detected, and written JSON can be read again.
#include "core/json.h"

#include <gtest/gtest.h>

namespace steelyard::json_test {
namespace {

TEST(Json, InvalidJsonIsDiscardedOrThrows) {
  EXPECT_TRUE(parse_json("{\"a\": ").is_discarded());
  EXPECT_TRUE(parse_json("").is_discarded());
  EXPECT_THROW((void)parse_json_strictly("{\"a\": "), Json::parse_error);
}

TEST(Json, ReadsOnlyValuesOfTheRequestedType) {
  const Json object = parse_json(R"({"number": 2.5, "text": "a"})");
  EXPECT_EQ(number_at(object, "number", -1), 2.5);
  EXPECT_EQ(number_at(object, "text", -1), -1);
  EXPECT_EQ(number_at(object, "neither", -1), -1);
  EXPECT_EQ(text_at(object, "text"), "a");
  EXPECT_EQ(text_at(object, "number"), "");
  EXPECT_EQ(text_at(object, "neither"), "");
}

TEST(Json, NegativeValuesAreUnknown) {
  EXPECT_TRUE(known_or_null(-1).is_null());
  EXPECT_EQ(known_or_null(0), Json(0.0));
}

TEST(Json, KeepsKeyOrderAndTheLastDuplicate) {
  EXPECT_EQ(dump_json(parse_json(R"({"b": 1, "a": [2, 3], "b": 4})")), R"({"b":4,"a":[2,3]})");
}

TEST(Json, IndentsOnRequest) { EXPECT_EQ(dump_json(Json{{"a", 1}}, 2), "{\n  \"a\": 1\n}"); }

TEST(Json, InvalidUtf8IsReplaced) {
  EXPECT_EQ(dump_json(Json{{"name",
                            "a\xff"
                            "b"}}),
            "{\"name\":\"a\xef\xbf\xbd"
            "b\"}");
}

}  // namespace
}  // namespace steelyard::json_test
