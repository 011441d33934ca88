// Reads the files of a run as a trial.
#include "app/report/compare/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/compare/made.h"

namespace steelyard::record_test {
namespace {

using testing::HasSubstr;

constexpr char rounds[] = R"({"purpose":"train","begin":0,"end":256,"workers":["a","b"],)"
                          R"("shares":[128,128],"compute_ms":[10,40],"at_ms":50}
{"purpose":"train","begin":256,"end":512,"workers":["a","b"],)"
                          R"("shares":[256,0],"compute_ms":[20,0],"at_ms":100}
not a line
{"purpose":"evaluate","begin":0,"end":100,"round_ms":30,"at_ms":130,"accuracy":0.5}
{"purpose":"train","begin":0,"end":256,"workers":["a","b"],)"
                          R"("shares":[128,128],"compute_ms":[10,40],"at_ms":190}
{"purpose":"evaluate","begin":0,"end":100,"round_ms":20,"at_ms":210,"accuracy":0.75}
)";
constexpr char finished[] = R"({"outcome":"finished","text":"","percent_of_ideal":61.5,"efficiency":0.4})";

TEST(CompareRecord, ReadsARunWithoutTheTimeOfEvaluations) {
  const Trial trial = trial_of(rounds, finished, "bsp");
  EXPECT_TRUE(trial.good()) << trial.failure;
  EXPECT_DOUBLE_EQ(trial.seconds, 0.16);
  EXPECT_DOUBLE_EQ(trial.samples, 768);
  EXPECT_EQ(trial.updates, 3U);
  EXPECT_DOUBLE_EQ(trial.percent_of_ideal, 61.5);
  EXPECT_DOUBLE_EQ(trial.efficiency, 0.4);
  EXPECT_DOUBLE_EQ(trial.accuracy, 0.75);
  ASSERT_EQ(trial.evaluations.size(), 2U);
  EXPECT_DOUBLE_EQ(trial.evaluations[0].seconds, 0.1);
  EXPECT_EQ(trial.evaluations[0].updates, 2U);
  EXPECT_DOUBLE_EQ(trial.evaluations[1].seconds, 0.16);
  ASSERT_EQ(trial.workers.size(), 2U);
  EXPECT_DOUBLE_EQ(trial.workers[0].samples / trial.workers[0].seconds, 512 / 0.04);
}

// The line is valid JSON, but not a valid round.
TEST(CompareRecord, FieldsThatAreNotListsAreIgnored) {
  for (const char* workers : {"7", "\"ab\"", "null", "{\"a\":1}"}) {
    const std::string line = std::string(R"({"purpose":"train","end":8,"at_ms":5,"workers":)") + workers +
                             R"(,"shares":7,"compute_ms":{"a":1,"b":2}})";
    EXPECT_TRUE(trial_of(line, finished, "bsp").workers.empty()) << workers;
  }
}

TEST(CompareRecord, WithoutABarrierEachPieceIsAnUpdate) {
  for (const char* sync : {"asp", "ssp:3"}) {
    const Trial trial = trial_of(rounds, finished, sync);
    EXPECT_EQ(trial.updates, 5U);
    EXPECT_LT(trial.percent_of_ideal, 0);
    EXPECT_LT(trial.efficiency, 0);
  }
  for (const char* sync : {"bsp", "ssp:0", "local:4", "oneshot:epoch"})
    EXPECT_TRUE(has_barrier(sync)) << sync;
}

TEST(CompareRecord, AFailedRunHasAReason) {
  EXPECT_EQ(trial_of(rounds, R"({"outcome":"non-finite","text":"loss is nan"})", "bsp").failure,
            "non-finite: loss is nan");
  EXPECT_THAT(trial_of(rounds, "", "bsp").failure, HasSubstr("no result"));
  EXPECT_THAT(trial_of("", finished, "bsp").failure, HasSubstr("nothing was trained"));
}

TEST(CompareRecord, TheFastestWorkerComputesMostSamplesPerSecond) {
  Comparison comparison;
  comparison.entries = {{equal_bsp, {trial_of(rounds, finished, "bsp")}}};
  EXPECT_EQ(fastest_worker(comparison), "a");
  EXPECT_EQ(fastest_worker(Comparison{}), "");
}

}  // namespace
}  // namespace steelyard::record_test
