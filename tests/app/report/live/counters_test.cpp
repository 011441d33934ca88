// Prometheus metrics of a running job.
#include "app/report/live/live_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/app/report/run/made_run.h"
#include "tests/support/exposition.h"

namespace steelyard::counters_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RunCounters counted(const MadeRun& made) {
  const RunRecord record = made.record();
  RunCounters counters;
  for (const RunRound& it : record.rounds) counters.add(it, record.workers);
  return counters;
}

const RunLabels labels{"made", "equal", "bsp", true};

TEST(Counters, SumOverRoundsAndWorkers) {
  MadeRun made;
  made.process(0).round({"fast", "slow"}, {60, 40}, {20, 35}).round({"fast", "slow"}, {60, 40}, {20, 85}, 50);
  made.evaluation(0.75).round({"fast"}, {100}, {35});
  const std::string text = metrics_text(counted(made), labels, 1.5e9);
  for (const char* line :
       {"steelyard_job_info{job=\"made\",policy=\"equal\",sync=\"bsp\"} 1\n",
        "steelyard_round_seconds_bucket{le=\"0.02\"} 0\n", "steelyard_round_seconds_bucket{le=\"0.05\"} 2\n",
        "steelyard_round_seconds_bucket{le=\"0.1\"} 3\n", "steelyard_round_seconds_bucket{le=\"+Inf\"} 3\n",
        "steelyard_round_seconds_count 3\n", "steelyard_round_seconds_sum 0.17\n",
        "steelyard_samples_total 300\n", "steelyard_evaluations_total 1\n", "steelyard_round 3\n",
        "steelyard_test_accuracy_ratio 0.75\n", "steelyard_ideal_ratio 0.8\n",
        "steelyard_last_round_timestamp_seconds 1500000000\n",
        "steelyard_worker_samples_total{worker=\"fast\"} 220\n",
        "steelyard_worker_rounds_total{worker=\"slow\"} 2\n",
        "steelyard_worker_waiting_seconds_total{worker=\"fast\"} 0.08\n",
        "steelyard_worker_share_samples{worker=\"fast\"} 100\n",
        "steelyard_worker_share_samples{worker=\"slow\"} 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(Counters, HaveThePrometheusFormat) {
  MadeRun made = made_run();
  made.round({"a \"quoted\" \\ name\nof two lines\x01"}, {1}, {1});
  const std::string text = metrics_text(counted(made), {"job \"x\"", "equal", "bsp", true}, 1.5e9);
  EXPECT_EQ(exposition_troubles(text), "");
  EXPECT_THAT(text, HasSubstr(R"({worker="a \"quoted\" \\ name\nof two lines"} 1)"));
  EXPECT_EQ(exposition_troubles(metrics_text({}, labels, 0)), "") << "before the first round";
  EXPECT_THAT(metrics_text({}, labels, 0), AllOf(Not(HasSubstr("worker_")), Not(HasSubstr("loss"))));
}

TEST(Counters, OmitWaitingTimesWithoutABarrier) {
  const std::string text = metrics_text(counted(made_run()), {"made", "equal", "asp", false}, 0);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("waiting")), Not(HasSubstr("exchange")), HasSubstr("computing")));
}

TEST(Counters, LimitTheNumberOfWorkerNames) {
  RunCounters counters;
  RunRound round;
  round.parts = {{0, 5, 0.1}};
  for (std::size_t i = 0; i < 2 * RunCounters::most_workers; ++i)
    counters.add(round, {"worker-" + std::to_string(i)});
  EXPECT_EQ(counters.workers.size(), RunCounters::most_workers + 1);
  EXPECT_EQ(counters.workers.at(RunCounters::others).samples, 5 * RunCounters::most_workers);
}

// exposition_troubles(), which the tests above use, detects each of these errors.
TEST(Exposition, FormatErrorsAreFound) {
  const std::string good = "# HELP steelyard_a A thing.\n# TYPE steelyard_a gauge\nsteelyard_a{x=\"y\"} 1\n";
  EXPECT_EQ(exposition_troubles(good), "");
  for (const char* bad :
       {"steelyard_a 1\n", "# TYPE steelyard_a gauge\nsteelyard_a 1\n",
        "# HELP steelyard_a A.\n# TYPE steelyard_a gauge\nsteelyard_a 1",
        "# HELP steelyard_a A.\n# TYPE steelyard_a gauge\nsteelyard_a one\n",
        "# HELP steelyard_a A.\n# TYPE steelyard_a gauge\nsteelyard_a 1\nsteelyard_a 2\n",
        "# HELP steelyard_a A.\n# TYPE steelyard_a gauge\nsteelyard_a{x=\"a\"b\"} 2\n",
        "# HELP steelyard_a A.\n# TYPE steelyard_a counter\nsteelyard_a 1\n",
        "# HELP steelyard_a A.\n# TYPE steelyard_a gauge\n",
        "# HELP steelyard_a_milliseconds A.\n# TYPE steelyard_a_milliseconds gauge\nsteelyard_a_milliseconds "
        "1\n",
        "# HELP steelyard_a A.\n# TYPE steelyard_a histogram\nsteelyard_a_bucket{le=\"1\"} 5\n"
        "steelyard_a_bucket{le=\"+Inf\"} 4\nsteelyard_a_sum 1\nsteelyard_a_count 4\n"}) {
    EXPECT_NE(exposition_troubles(bad), "") << bad;
  }
}

TEST(Counters, AnErrorHasItsOwnMetric) {
  RunCounters counters;
  RunRound evaluation;
  evaluation.train = false;
  evaluation.loss = 0.25;
  evaluation.accuracy = NAN;
  evaluation.error = {"MAE", 12.5};
  counters.add(evaluation, {});
  const std::string text = metrics_text(counters, {"job", "equal", "bsp"}, 0);
  EXPECT_THAT(text, AllOf(HasSubstr("steelyard_test_loss 0.25\n"), HasSubstr("steelyard_test_mae 12.5\n"),
                          Not(HasSubstr("accuracy")), Not(HasSubstr("rmse"))));
}

}  // namespace
}  // namespace steelyard::counters_test
