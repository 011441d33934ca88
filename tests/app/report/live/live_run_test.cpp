// The page, status and metrics of a running job.
#include "app/report/live/live_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/report/page/page.h"
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

TEST_F(Live, ShowsTheReportOfTheRecord) {
  feed(made_run());
  const std::string part = live_part(live.document(1.5e9 + 2));
  EXPECT_THAT(part,
              AllOf(HasSubstr("Worker eighth held the others up."), HasSubstr("<b class=\"running\">running"),
                    HasSubstr("epoch 1, round 80"), HasSubstr("Round by round")));
  EXPECT_EQ(live.document(1.5e9 + 2)["sections"][0]["state"]["last"], 2);
}

TEST_F(Live, WaitsBeforeTheFirstRound) {
  EXPECT_THAT(live.document(0).dump(),
              AllOf(HasSubstr("waiting"), HasSubstr("no round has ended"), HasSubstr("made")));
  EXPECT_FALSE(live.document(0)["sections"][0]["state"].contains("last"));
  EXPECT_THAT(live.status(1.5e9), HasSubstr("waiting: no process has joined"));
}

TEST_F(Live, TheFinalStateComesFromTheResult) {
  feed(made_run());
  EXPECT_FALSE(live.has_ended());
  live.ended(R"({"outcome": "finished", "accuracy": 0.75})");
  EXPECT_TRUE(live.has_ended());
  const Json state = live.document(1.5e9)["sections"][0]["state"];
  EXPECT_EQ(state["name"], "finished");
  EXPECT_EQ(state["final"], true);
  EXPECT_THAT(state["text"].get<std::string>(), HasSubstr("75.00 %"));
  EXPECT_EQ(nlohmann::json::parse(live.status(1.5e9))["state"], "finished");
}

TEST_F(Live, LineByLineGivesTheSameDocument) {
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
  EXPECT_EQ(other.document(1.5e9), live.document(1.5e9));
  EXPECT_EQ(metrics_text(other.metrics(1.5e9)), metrics_text(live.metrics(1.5e9)));
}

TEST_F(Live, ReportsItsStatusAsJson) {
  feed(made_run());
  const nlohmann::json status = nlohmann::json::parse(live.status(1.5e9));
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["round"], 80);
  EXPECT_THAT(status["text"].get<std::string>(),
              AllOf(HasSubstr("runs/made-1: running, epoch 1"), HasSubstr("samples per second")));
  ASSERT_EQ(status["workers"].size(), 3U);
  EXPECT_EQ(status["workers"][1]["name"], "half");
}

TEST_F(Live, AllViewsHaveTheStateAndItsReason) {
  MadeRun made = made_run();
  made.note("server 's' has been silent for 12 s: the job waits for it");
  feed(made);
  const double later = 1.5e9 + 60;
  const std::string reason = "server 's' has been silent for 12 s: the job waits for it";
  const nlohmann::json status = nlohmann::json::parse(live.status(later));
  EXPECT_EQ(status["state"], "paused");
  EXPECT_EQ(status["reason"], reason);
  EXPECT_THAT(status["text"].get<std::string>(), HasSubstr("made-1: paused: server 's' has been"));
  const Json state = live.document(later)["sections"][0]["state"];
  EXPECT_EQ(state["name"], "paused");
  EXPECT_THAT(state["text"].get<std::string>(), HasSubstr(reason));
  EXPECT_THAT(metrics_text(live.metrics(later)),
              AllOf(HasSubstr("steelyard_job_state{state=\"paused\"} 1\n"),
                    HasSubstr("steelyard_job_state{state=\"running\"} 0\n"),
                    HasSubstr("steelyard_job_state_info{state=\"paused\",reason=\"" + reason + "\"} 1\n")));
}

TEST_F(Live, MetricsCountIdleWorkersAndMissingMirrors) {
  EXPECT_FALSE(live.metrics(0).shards_without_mirror) << "the job has none";
  LiveRun mirrored("runs/made-1", "[cluster]\nservers = 2\nreplicas = 1\n[[worker]]\nname = \"half\"\n");
  MadeRun made;
  made.note("worker 'half' joined").note("worker 'slow' joined").note("server 's1' mirrors 's0'");
  for (int i = 0; i < 60; ++i) made.round({"half"}, {10}, {10});
  mirrored.event_lines(made.events);
  mirrored.round_lines(made.rounds, 1.5e9);
  EXPECT_THAT(metrics_text(mirrored.metrics(1.5e9)), AllOf(HasSubstr("steelyard_idle_workers 1\n"),
                                                           HasSubstr("steelyard_shards_without_mirror 1\n")));
}

// The record is bounded; counters cover the whole run.
TEST_F(Live, LongRunsDropTheirOldestRounds) {
  LiveRun small("runs/made-1", "", 200);
  MadeRun made;
  made.process(0).evaluation(0.25);
  for (int i = 0; i < 100; ++i) made.round({"a", "b"}, {10, 20}, {10, 20});
  small.event_lines(made.events);
  std::istringstream rounds(made.rounds);
  for (std::string line; std::getline(rounds, line);) small.round_lines(line, 1.5e9);
  EXPECT_THAT(small.document(1.5e9).dump(), AllOf(HasSubstr("earlier ones"), HasSubstr("test accuracy")));
  EXPECT_THAT(metrics_text(small.metrics(1.5e9)), HasSubstr("steelyard_samples_total 3000\n"));
  EXPECT_THAT(live.document(1.5e9).dump(), Not(HasSubstr("earlier ones")));
}

}  // namespace
}  // namespace steelyard::live_run_test
