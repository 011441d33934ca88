// The state of a run and its reason.
#include "app/report/run/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/run/made_run.h"

namespace steelyard::run_state_test {
namespace {

using testing::HasSubstr;

ReportedRun training(const MadeRun& made, double since_round = 1) {
  ReportedRun run = reported(made);
  run.life = {.training = true, .since_round = since_round};
  return run;
}

TEST(RunState, AJobWaitsUntilItsFirstRoundHasEnded) {
  MadeRun made;
  EXPECT_EQ(state_of(training(made)).text(), "waiting: no process has joined");
  made.note("worker 'a' joined");
  ReportedRun run = training(made);
  run.machines = {{"a", {}}, {"b", {}}, {"c", {}}};
  EXPECT_EQ(state_of(run).text(), "waiting: b, c have not joined");
  made.process(0).round({"a"}, {1}, {5});
  EXPECT_EQ(state_of(training(made)).state, RunState::running);
  made.event({{"began", "2026-05-04T08:08:09Z"}});
  EXPECT_EQ(state_of(training(made)).text(), "waiting: the first round since it was resumed has not ended");
  EXPECT_FALSE(state_of(training(made)).over());
}

TEST(RunState, AJobWithoutFurtherRoundsIsPausedByItsLastNote) {
  MadeRun made = made_run();
  EXPECT_EQ(state_of(training(made, 9)).text(), "running");
  EXPECT_THAT(state_of(training(made, 11)).text(), HasSubstr("paused: no round has ended for much longer"));
  made.note("server 's' has been silent for 12 s: the job waits for it");
  EXPECT_EQ(state_of(training(made, 11)).text(),
            "paused: server 's' has been silent for 12 s: the job waits for it");
  EXPECT_EQ(state_of(training(made, -1)).state, RunState::running) << "unknown";
}

TEST(RunState, LongRoundsMayTakeTheirTime) {
  MadeRun made;
  for (int i = 0; i < 3; ++i) made.round({"a"}, {1}, {20'000});
  EXPECT_EQ(state_of(training(made, 60)).state, RunState::running);
  EXPECT_EQ(state_of(training(made, 300)).state, RunState::paused);
}

TEST(RunState, TheResultNamesTheEnd) {
  ReportedRun run = reported(made_run());
  EXPECT_EQ(state_of(run).text(), "finished");
  EXPECT_TRUE(state_of(run).over());
  run.life.training = true;
  EXPECT_EQ(state_of(run).state, RunState::running) << "the result is of an earlier process";
  EXPECT_EQ(ended_state("interrupted", "by request").text(), "interrupted: by request");
  EXPECT_EQ(ended_state("server lost", "it broke").text(), "failed: server lost: it broke");
  EXPECT_EQ(ended_state("storage", "").text(), "failed: storage");
}

TEST(RunState, ARunWithoutAResultWasInterrupted) {
  ReportedRun run = reported(made_run());
  run.record = made_run().record();
  EXPECT_EQ(state_of(run).text(), "interrupted: its processes were killed");
  run.life.continued = true;
  EXPECT_EQ(state_of(run).text(), "interrupted: continued by a standby");
}

}  // namespace
}  // namespace steelyard::run_state_test
