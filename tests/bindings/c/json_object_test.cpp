#include "bindings/c/json_object.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace steelyard::c_api::json_object_test {
namespace {

using testing::HasSubstr;

template <class Work>
std::string refusal(Work work) {
  try {
    work();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "nothing was refused";
}

const Json json = parse_json(R"({"name": "ada", "number": 2.5, "count": 3, "kind": "gpu"})");
const std::vector<std::string> known{"name", "number", "count", "kind", "left_out"};

TEST(JsonObject, ReturnsValuesAndDefaults) {
  const JsonObject it(json, "the thing", known);
  EXPECT_EQ(it.text("name", ""), "ada");
  EXPECT_EQ(it.text("left_out", "default"), "default");
  EXPECT_EQ(it.number("number", 0, 0, 3), 2.5);
  EXPECT_EQ(it.number("left_out", 7, 0, 1), 7);
  EXPECT_EQ(it.count("count", 0, 1), 3);
  EXPECT_EQ(it.find("left_out"), nullptr);
  EXPECT_EQ(kind_of(it), DeviceKind::gpu);
}

TEST(JsonObject, ErrorsNameKeyObjectAndRemedy) {
  const JsonObject it(json, "the thing", known);
  EXPECT_EQ(refusal([&] { (void)it.text("count", ""); }),
            "\"count\" of the thing is 3: give a string in quotes");
  EXPECT_THAT(refusal([&] { (void)it.count("number", 0, 1); }), HasSubstr("give a whole number from 1"));
  EXPECT_THAT(refusal([&] { (void)it.count("count", 0, 4); }), HasSubstr("give a whole number from 4"));
  EXPECT_THAT(refusal([&] { (void)it.number("number", 0, 0, 1); }),
              HasSubstr("give a number from 0.0 to 1.0"));
  EXPECT_THAT(refusal([&] { it.refuse("left_out", "it"); }),
              HasSubstr("\"left_out\" of the thing is missing"));
  EXPECT_THAT(refusal([&] { JsonObject(json, "the thing", {"name"}); }), HasSubstr("the thing has no key"));
  EXPECT_THAT(refusal([&] { (void)parse_object(nullptr, "it", "{}"); }), HasSubstr("it is not JSON"));
}

}  // namespace
}  // namespace steelyard::c_api::json_object_test
