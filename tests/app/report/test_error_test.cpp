#include "app/report/test_error.h"

#include <gmock/gmock.h>

namespace steelyard::test_error_test {
namespace {

TEST(TestError, IsAMemberOfRecords) {
  for (const TestError& error : {TestError{"RMSE", 50}, TestError{"MAE", 0.125}}) {
    Json json = Json::object();
    add_error(json, error);
    EXPECT_EQ(json.size(), 1U);
    EXPECT_EQ(error_in(json), error);
  }
  Json json = Json::object();
  add_error(json, {});
  EXPECT_TRUE(json.empty());
  EXPECT_FALSE(error_in(json).known());
  EXPECT_FALSE(error_in(Json()).known());
}

}  // namespace
}  // namespace steelyard::test_error_test
