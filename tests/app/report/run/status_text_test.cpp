// The status of a run as text.
#include "app/report/run/status_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/run/made_run.h"

namespace steelyard::status_text_test {
namespace {

ReportedRun running(const MadeRun& made) {
  ReportedRun run = reported(made);
  run.life.training = true;
  return run;
}

using testing::AllOf;
using testing::ContainsRegex;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Not;

TEST(StatusText, NamesTheWorkersAndTheSlowestOne) {
  MadeRun made;
  for (int i = 0; i < 30; ++i) made.round({"eighth", "half", "quarter"}, {100, 100, 100}, {80, 20, 40}, 50);
  ReportedRun run = running(made);
  run.rounds = 60;
  EXPECT_THAT(status_text(run),
              AllOf(HasSubstr("runs/made-1: running, epoch 1, round 30, 0:03 left"),
                    HasSubstr("percent of ideal    50.0   (last 30 rounds)"),
                    ContainsRegex("half +100.0 +5000 +71 %"), HasSubstr("eighth holds the others up"),
                    HasSubstr("2.16"), HasSubstr("cluster.policy=steelyard")));
  run.life.training = false;
  EXPECT_THAT(status_text(run), AllOf(HasSubstr("runs/made-1: finished, epoch 1"), Not(HasSubstr("left"))));
}

TEST(StatusText, CoversTheLastRoundsOnly) {
  MadeRun made = made_run();
  for (int i = 0; i < 20; ++i)
    made.round({"eighth", "half", "quarter"}, {43, 171, 86}, {34.4, 34.2, 34.4}, 99);
  EXPECT_THAT(status_text(running(made)),
              AllOf(HasSubstr("the split is good"), HasSubstr("75.00 %"), ContainsRegex("half +171.0")));
}

TEST(StatusText, WorkersWithoutSamplesAreListedWithTheReason) {
  MadeRun made;
  for (const char* name : {"half", "quarter", "eighth", "gone"})
    made.note("worker '" + std::string(name) + "' joined");
  made.round({"eighth", "half", "quarter"}, {10, 100, 100}, {80, 20, 40});
  for (int i = 0; i < 60; ++i) made.round({"half", "quarter"}, {100, 100}, {20, 40});
  made.note("worker 'gone' left");
  EXPECT_THAT(status_text(running(made)), AllOf(ContainsRegex("eighth +idle in the last 50 rounds"),
                                                ContainsRegex("gone +left\n"), ContainsRegex("half +100.0")));
}

TEST(StatusText, AServerWithoutAMirrorIsNamedUntilItHasOne) {
  MadeRun made;
  made.note("server 's0' joined at x").note("server 's1' mirrors 's0'");
  made.round({"half"}, {100}, {20});
  EXPECT_THAT(status_text(running(made)), Not(HasSubstr("no mirror")));
  made.note("server 's0' is lost; its mirror 's1' is in its place, without a mirror of its own");
  EXPECT_THAT(status_text(running(made)), HasSubstr("server 's1' has no mirror"));
  EXPECT_THAT(status_text(reported(made)), Not(HasSubstr("no mirror")));
  made.note("server 's2' mirrors 's1'");
  EXPECT_THAT(status_text(running(made)), Not(HasSubstr("no mirror")));
}

TEST(StatusText, ARunWithoutRoundsNamesWhatItWaitsFor) {
  MadeRun made;
  made.note("worker 'half' joined");
  ReportedRun run = running(made);
  EXPECT_THAT(
      status_text(run),
      HasSubstr("made-1: waiting: the first round has not ended; last note: worker 'half'\n  joined"));
  run.machines = {{"half", {}}, {"quarter", {}}};
  EXPECT_THAT(status_text(run), HasSubstr("made-1: waiting: quarter has not joined\n"));
}

TEST(StatusText, AFailureComesWithItsReasonAndHowFarItWas) {
  ReportedRun run = reported(made_run());
  run.record = made_run().record(R"({"outcome": "server lost", "text": "it broke"})");
  EXPECT_THAT(status_text(run), HasSubstr("made-1: failed: server lost: it broke; epoch 1, round 80\n"));
  run.record = MadeRun().record();
  EXPECT_THAT(status_text(run),
              HasSubstr("made-1: interrupted: its processes were killed; no round has ended\n"));
}

TEST(StatusText, TheNearestLimitDeterminesTheShareDone) {
  MadeRun made;
  for (int i = 0; i < 10; ++i) made.round({"a"}, {100}, {95});
  ReportedRun run = reported(made);
  EXPECT_LT(share_done(run), 0);
  run.epochs = 4;
  EXPECT_LT(share_done(run), 0) << "the length of an epoch is unknown";
  run.rounds = 40;
  EXPECT_THAT(share_done(run), DoubleNear(0.25, 1e-9));
  run.seconds = 2;
  EXPECT_THAT(share_done(run), DoubleNear(0.5, 1e-9));
  for (std::size_t i = 6; i < 10; ++i) run.record.rounds[i].epoch = 1;  // 4 of its 6 rounds
  run.rounds = 0;
  run.seconds = 0;
  EXPECT_THAT(share_done(run), DoubleNear((1 + 4.0 / 6) / 4, 1e-9));
}

}  // namespace
}  // namespace steelyard::status_text_test
