#include "app/tools/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace steelyard::measured_test {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

// Rounds of one worker: `samples` samples, `compute_ms` of computation and `beyond_ms` of other time.
RunRecord alone(std::uint64_t samples, double compute_ms, double beyond_ms, std::uint64_t rounds = 6) {
  RunRecord run;
  run.workers = {"ada"};
  double at = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    RunRound round;
    round.round = i;
    round.begin = at;
    // The first round pulls the whole model, so it is slower.
    at += (i == 0 ? 10 : 1) * (compute_ms + beyond_ms) / 1000;
    round.end = at;
    round.parts = {{0, samples, compute_ms / 1000}};
    run.rounds.push_back(round);
  }
  return run;
}

TEST(PlanMeasured, TheTwoExchangesGiveLatencyAndTransfer) {
  const MeasuredWorker it =
      measured_worker("ada", alone(512, 40, 2 * 3 + 2 * 20), alone(128, 12, 2 * 3 + 2 * 5), 0.25);
  EXPECT_THAT(it.latency_ms, DoubleNear(3, 1e-6));
  EXPECT_THAT(it.transfer_ms, DoubleNear(20, 1e-6));
  ASSERT_EQ(it.curve.size(), 2U);
  EXPECT_THAT(sim::on_curve(it.curve, 512), DoubleNear(40, 1e-6));
  EXPECT_THAT(sim::on_curve(it.curve, 128), DoubleNear(12, 1e-6));
  EXPECT_THAT(it.noise, DoubleNear(0, 1e-9));
}

TEST(PlanMeasured, AnUnnoticeableLinkTakesNoTime) {
  // Encoding costs more than it saves.
  const MeasuredWorker it = measured_worker("ada", alone(512, 40, 1), alone(128, 12, 1.5), 0.25);
  EXPECT_EQ(it.transfer_ms, 0);
  EXPECT_THAT(it.latency_ms, DoubleNear(0.5, 1e-6));
}

TEST(PlanMeasured, ShortRoundsAtTheEndOfAnEpochDoNotCount) {
  RunRecord run = alone(512, 40, 2);
  run.rounds[3].parts[0] = {0, 7, 0.001};
  run.rounds[4].train = false;
  EXPECT_THAT(sim::on_curve(measured_worker("ada", run, run, 0.25).curve, 512), DoubleNear(40, 1e-6));
}

TEST(PlanMeasured, ATrialThatWasTooShortIsRefused) {
  try {
    measured_worker("ada", alone(512, 40, 2, 1), alone(128, 12, 2), 0.25);
    ADD_FAILURE() << "it was accepted";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), testing::AllOf(HasSubstr("'ada'"), HasSubstr("--seconds")));
  }
}

TEST(PlanMeasured, TheRateSkipsTheFirstQuarter) {
  EXPECT_THAT(steady_rate(alone(512, 40, 10, 8)), DoubleNear(512 / 0.05, 1e-6));
  EXPECT_GT(steady_rate(alone(512, 40, 10, 1)), 0) << "a single round is not skipped";
  EXPECT_EQ(steady_rate({}), 0);
}

TEST(PlanMeasured, MeasurementsReadBackTheSame) {
  const std::vector<MeasuredWorker> all{{"ada", {{128, 12.5}, {512, 40}}, 0.03, 0.4, 20},
                                        {"bob \"b\"", {{512, 80}}, 0, 0, 0}};
  EXPECT_EQ(parse_measurements(measurements_text(all), "file"), all);
}

TEST(PlanMeasured, InvalidMeasurementsAreRefusedWithPlaceAndRemedy) {
  const std::string good = measurements_text({{"ada", {{128, 12.5}}, 0, 0, 0}});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  ASSERT_NO_THROW(parse_measurements(good, "f"));
  for (const std::string& text :
       {std::string("{"), std::string("[]"),
        with("steelyard_measurements\": 1", "steelyard_measurements\": 2"), with("12.5", "0"),
        with("12.5", "-1"), with("\"noise\": 0.0", "\"noise\": -1"), with("128.0", "\"x\""),
        std::string("{\"steelyard_measurements\":1,\"workers\":[]}")}) {
    try {
      parse_measurements(text, "m.json");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration);
      EXPECT_THAT(failure.what(), testing::AllOf(HasSubstr("m.json"), HasSubstr("--measured")));
    }
  }
}

}  // namespace
}  // namespace steelyard::measured_test
