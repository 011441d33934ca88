// A machine that computes one bad gradient: the effect on that gradient, the worker and the job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tests/hosts/whole_jobs.h"

namespace steelyard::test::bad_gradients_test {
namespace {

using ::testing::HasSubstr;

// One bad gradient in round 10. Its values and the job's policy are parameters.
class SpoiltOnce {
 public:
  explicit SpoiltOnce(BadGradient policy, float bad, double limit = 0)
      : job([&] {
          Job it = toy_job(320, 16, 1, 3, 2);
          it.bad_gradient = policy;
          it.gradient_limit = limit;
          return it;
        }()),
        world(job, {}) {
    world.populate(3, 2);
    world.on_gradient = [this, bad](GradientReady& final) {
      if (final.round != 10 || final.slice != 2 || spoiled_++ > 0) return;
      final.values = Blob::copy_of(std::vector<float>(final.values.floats().size(), bad));
    };
    EXPECT_TRUE(world.run());
    EXPECT_GT(spoiled_, 0);
  }
  // The smallest number of rounds in which a worker had a share.
  [[nodiscard]] std::size_t fewest_rounds() const {
    std::map<std::string, std::size_t> rounds;
    for (const ToRecorder& message : world.recorded()) {
      const auto* record = std::get_if<RoundRecord>(&message);
      if (record == nullptr || record->purpose != Purpose::train) continue;
      for (const RoundRecord::Part& part : record->parts) rounds[part.name] += part.share > 0 ? 1 : 0;
    }
    std::size_t fewest = SIZE_MAX;
    for (const auto& [name, count] : rounds) fewest = std::min(fewest, count);
    return fewest;
  }

  const Job job;
  World world;

 private:
  int spoiled_ = 0;
};

TEST(BadGradients, ARefusedGradientMayIdleItsWorker) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  SpoiltOnce again(BadGradient::recompute, nan), rest(BadGradient::rest, nan);
  expect_whole(again.world, again.job, "again");
  expect_whole(rest.world, rest.job, "rest");
  EXPECT_GE(again.fewest_rounds(), 19U) << "another worker computed that piece";
  EXPECT_LE(rest.fewest_rounds(), 11U);
  EXPECT_GE(rest.fewest_rounds(), 10U);
}

TEST(BadGradients, ARefusedGradientMayEndTheJob) {
  const SpoiltOnce stop(BadGradient::stop, INFINITY);
  const Stop& outcome = stop.world.scheduler().outcome();
  EXPECT_EQ(outcome.outcome, Outcome::non_finite);
  EXPECT_THAT(outcome.text, HasSubstr("round 10"));
  EXPECT_THAT(outcome.text, HasSubstr("worker-"));
  EXPECT_THAT(outcome.text, HasSubstr("bad_gradient"));
}

TEST(BadGradients, AnExcessiveGradientIsRecomputed) {
  SpoiltOnce limited(BadGradient::recompute, 1e9F, 100);
  expect_whole(limited.world, limited.job, "limited");
}

}  // namespace
}  // namespace steelyard::test::bad_gradients_test
