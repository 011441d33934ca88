// RunResults, fed with hand-made records.
#include "sim/run_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario_run.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::run_results_test {
namespace {

using testing::ElementsAre;

class RunResultsTest : public testing::Test {
 protected:
  RunResults results(bool trained) { return {job_, batches_, 2, worker_in_, trained}; }
  static RoundRecord round(Purpose purpose, std::vector<RoundRecord::Part> parts) {
    RoundRecord record;
    record.purpose = purpose;
    record.positions = {0, 120};
    record.seconds = 0.5;
    record.accuracy = 0.75;
    record.parts = std::move(parts);
    return record;
  }

  Scenario scenario_ = made(120, {{0, 1}, {0, 1}});
  Devices devices_{scenario_, 1};
  Job job_ = job_of(scenario_, false, false);
  Batches batches_{job_, devices_, 10};
  std::vector<std::size_t> worker_in_{1, 0};
};

TEST_F(RunResultsTest, PartsAreAttributedByTheWorkersSlot) {
  RunResults it = results(false);
  it.told(round(Purpose::train, {{0, "b", 80, 0.3}, {1, "a", 40, 0.1}}));
  ASSERT_EQ(it.rounds().size(), 1U);
  EXPECT_THAT(it.rounds()[0].shares, ElementsAre(40, 80));
  EXPECT_THAT(it.rounds()[0].compute_ms, ElementsAre(100, 300));
  EXPECT_DOUBLE_EQ(it.rounds()[0].round_ms, 500);
  EXPECT_DOUBLE_EQ(it.rounds()[0].se, 1);
  EXPECT_EQ(it.tally().batches, 1U);
  EXPECT_EQ(it.tally().updates, 1U);
}

TEST_F(RunResultsTest, EachWorkersPushIsAnUpdateUnderAsp) {
  job_.sync = parse_sync("asp");
  RunResults it = results(false);
  it.told(round(Purpose::train, {{0, "b", 80, 0.3}, {1, "a", 40, 0.1}}));
  EXPECT_EQ(it.tally().updates, 2U);
}

TEST_F(RunResultsTest, EvaluationsCountOnlyWithRealTraining) {
  for (const bool trained : {false, true}) {
    RunResults it = results(trained);
    it.told(round(Purpose::train, {}));
    it.told(round(Purpose::evaluate, {}));
    EXPECT_EQ(it.rounds().size(), 1U);
    ASSERT_EQ(it.evaluations().size(), trained ? 1U : 0U);
    if (!trained) continue;
    EXPECT_DOUBLE_EQ(it.evaluations()[0].seconds, 0.5) << "seconds of training before it";
    EXPECT_DOUBLE_EQ(it.evaluations()[0].accuracy, 0.75);
    EXPECT_EQ(it.evaluations()[0].updates, 1U);
  }
}

TEST_F(RunResultsTest, KeepsNotesAndTheOutcome) {
  RunResults it = results(false);
  EXPECT_FALSE(it.ended());
  it.told(Note{"'a' is lost"});
  it.told(Ended{Outcome::finished, "done", {}});
  EXPECT_THAT(it.notes(), ElementsAre("'a' is lost"));
  ASSERT_TRUE(it.ended());
  EXPECT_EQ(it.ended()->text, "done");
}

}  // namespace
}  // namespace steelyard::sim::run_results_test
