#include "balancing/allocate/elastic_barrier.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/random.h"

namespace steelyard::balancing::elastic_barrier_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using Times = std::vector<double>;

double wait(const Times& seconds, const std::vector<std::uint64_t>& pieces) {
  double first = 1e300, last = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const double end = seconds[i] * static_cast<double>(pieces[i]);
    first = std::min(first, end), last = std::max(last, end);
  }
  return last - first;
}

TEST(ElasticBarrier, IsWhereWorkersWaitLeast) {
  EXPECT_THAT(pieces_before_barrier(Times{1, 2}, 4), ElementsAre(2, 1));
  EXPECT_THAT(pieces_before_barrier(Times{2, 3}, 4), ElementsAre(3, 2));
  EXPECT_THAT(pieces_before_barrier(Times{1, 1, 1}, 9), ElementsAre(1, 1, 1)) << "of equal ones the earliest";
  EXPECT_THAT(pieces_before_barrier(Times{0.1, 0.3}, 9), ElementsAre(3, 1)) << "up to rounding";
}

TEST(ElasticBarrier, LiesWithinTheLookahead) {
  EXPECT_THAT(pieces_before_barrier(Times{1, 10}, 1), ElementsAre(1, 1)) << "bsp";
  EXPECT_THAT(pieces_before_barrier(Times{1, 10}, 4), ElementsAre(4, 1));
  EXPECT_THAT(pieces_before_barrier(Times{1, 10}, 10), ElementsAre(10, 1));
}

TEST(ElasticBarrier, NeedsAllTimes) {
  EXPECT_THAT(pieces_before_barrier(Times{1, 0, 3}, 9), Each(1U));
  EXPECT_THAT(pieces_before_barrier(Times{}, 9), IsEmpty());
  EXPECT_THAT(pieces_before_barrier(Times{5}, 9), ElementsAre(1));
}

// All choices of up to six pieces for each of three workers.
TEST(ElasticBarrier, NoOtherChoiceWaitsLess) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    Times seconds(3);
    for (double& each : seconds) each = 0.2 + random.uniform();
    const double found = wait(seconds, pieces_before_barrier(seconds, 6));
    for (std::uint64_t choice = 0; choice < 6 * 6 * 6; ++choice)
      EXPECT_LE(found, wait(seconds, {1 + choice % 6, 1 + choice / 6 % 6, 1 + choice / 36}) + 1e-6) << seed;
  }
}

}  // namespace
}  // namespace steelyard::balancing::elastic_barrier_test
