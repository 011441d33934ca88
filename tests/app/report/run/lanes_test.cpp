// The rounds one by one.
#include "app/report/run/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/run/made_run.h"

namespace steelyard::lanes_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

nlohmann::json data_in(const std::string& text) {
  const std::size_t from = text.find("json\">") + 6;
  return nlohmann::json::parse(text.substr(from, text.find("</script>", from) - from));
}

// Of a round of 25 ms one computes 20, the other 10 and waits 10; 5 are exchange.
TEST(Lanes, ALaneIsComputingWaitingAndExchange) {
  MadeRun made;
  made.round({"a", "b"}, {50, 50}, {20, 10});
  const std::string text = lanes(made.record(), {0, 1}, 0);
  EXPECT_THAT(text, AllOf(HasSubstr("class=\"computing\" d=\"M0 14h800000\""),
                          HasSubstr("class=\"exchanging\" d=\"M800000 14h200000\""),
                          HasSubstr("class=\"computing\" d=\"M0 42h400000\""),
                          HasSubstr("class=\"waiting\" d=\"M400000 42h400000\""),
                          HasSubstr("class=\"exchanging\" d=\"M800000 42h200000\"")));
  const auto data = data_in(text);
  EXPECT_EQ(data["names"], nlohmann::json({"a", "b"}));
  EXPECT_EQ(data["times"], nlohmann::json({{20.0}, {10.0}}));
  EXPECT_EQ(data["ms"], nlohmann::json({25.0}));
}

TEST(Lanes, WhoWasNotThereHasNothing) {
  MadeRun made;
  made.round({"a", "b"}, {50, 50}, {20, 20}).round({"a"}, {100}, {45});
  const std::string text = lanes(made.record(), {1}, 0);
  EXPECT_THAT(text, HasSubstr("class=\"exchanging\" d=\"M266667 14h66666\"/><path class=\"computing\""));
  EXPECT_EQ(data_in(text)["times"], nlohmann::json({{20.0, nullptr}}));
}

TEST(Lanes, TooManyRoundsAreStretchesWithTheOneThatMatters) {
  MadeRun made;
  for (int i = 0; i < 1000; ++i) made.round({"a"}, {1}, {1});
  const RunRecord record = made.record();
  const std::vector<std::size_t> kept = kept_rounds(record, 200, 777);
  EXPECT_LE(kept.size(), 200U);
  EXPECT_GE(kept.size(), 160U);
  EXPECT_THAT(kept, AllOf(Contains(0U), Contains(777U), Contains(999U)));
  EXPECT_EQ(kept_rounds(record, 1000, 777).size(), 1000U);
}

TEST(Lanes, ANameCannotEndTheData) {
  MadeRun made;
  made.round({"</script><b>", "b"}, {50, 50}, {20, 10});
  const std::string text = lanes(made.record(), {0, 1}, 0);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("</script><b>")), HasSubstr("&lt;/script&gt;")));
  EXPECT_EQ(data_in(text)["names"][0], "</script><b>");
}

}  // namespace
}  // namespace steelyard::lanes_test
