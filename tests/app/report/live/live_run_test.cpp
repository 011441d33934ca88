// A run under way, as those see it who look on.
#include "app/report/live/live_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/report/run/made_run.h"

namespace steelyard::live_run_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Live : public testing::Test {
 protected:
  void feed(const MadeRun& made) {
    live.event_lines(made.events);
    live.round_lines(made.rounds, 1.5e9);
  }
  LiveRun live{"runs/made-1", "[job]\nname = \"made\"\n[cluster]\npolicy = \"equal\"\n"};
};

TEST_F(Live, ShowsWhatTheReportShows) {
  feed(made_run());
  EXPECT_THAT(live.part(), AllOf(HasSubstr("eighth</b> held the others up"), HasSubstr("running, epoch 1"),
                                 HasSubstr("Round by round"), Not(HasSubstr("<script src"))));
  EXPECT_THAT(live.page(), AllOf(HasSubstr("<script src=\"live.js\""), HasSubstr(live.part()),
                                 HasSubstr("<style>"), Not(HasSubstr("<script>"))))
      << "the policy of the page forbids scripts in it";
}

TEST_F(Live, BeforeTheFirstRound) {
  EXPECT_THAT(live.page(), AllOf(HasSubstr("no round has ended"), HasSubstr("made")));
  EXPECT_THAT(live.status(), HasSubstr("no round has ended"));
}

// Line by line or all at once: the same.
TEST_F(Live, GrowsLineByLine) {
  const MadeRun made = made_run();
  LiveRun other("runs/made-1", "[job]\nname = \"made\"\n[cluster]\npolicy = \"equal\"\n");
  feed(made);
  std::istringstream rounds(made.rounds), events(made.events);
  std::string line;
  for (std::uint64_t before = other.changes(); std::getline(rounds, line); ++before) {
    other.round_lines(line, 1.5e9);
    EXPECT_EQ(other.changes(), before + 1);
  }
  while (std::getline(events, line)) other.event_lines(line);
  EXPECT_EQ(other.part(), live.part());
  EXPECT_EQ(other.metrics(), live.metrics());
}

TEST_F(Live, TellsItsStatusAsJson) {
  feed(made_run());
  const nlohmann::json status = nlohmann::json::parse(live.status());
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["round"], 80);
  EXPECT_THAT(status["text"].get<std::string>(),
              AllOf(HasSubstr("runs/made-1: running, epoch 1"), HasSubstr("samples per second")));
  ASSERT_EQ(status["workers"].size(), 3U);
  EXPECT_EQ(status["workers"][1]["name"], "half");
}

// What is kept is bounded; what is counted is of all.
TEST_F(Live, LongRunsLoseTheirOldestRounds) {
  LiveRun small("runs/made-1", "", 200);
  MadeRun made;
  made.process(0).evaluation(0.25);
  for (int i = 0; i < 100; ++i) made.round({"a", "b"}, {10, 20}, {10, 20});
  small.event_lines(made.events);
  std::istringstream rounds(made.rounds);
  for (std::string line; std::getline(rounds, line);) small.round_lines(line, 1.5e9);
  EXPECT_THAT(small.part(), AllOf(HasSubstr("before them are left out"), HasSubstr("test set")));
  EXPECT_THAT(small.metrics(), HasSubstr("steelyard_samples_total 3000\n"));
  EXPECT_THAT(live.part(), Not(HasSubstr("left out")));
}

}  // namespace
}  // namespace steelyard::live_run_test
