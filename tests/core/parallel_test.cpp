// The parallel loop visits every index once and has finished when the call returns.
#include "core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace steelyard::parallel_test {
namespace {

TEST(Parallel, VisitsEveryIndexExactlyOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 7U, 100U, 10'007U}) {
    for (const std::size_t grain : {0U, 1U, 3U, 64U, 100'000U}) {
      std::vector<int> times(count);  // parts are disjoint: each element is written by one thread
      parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) ++times[i];
      });
      ASSERT_EQ(times, std::vector<int>(count, 1)) << count << " by " << grain;
    }
  }
}

TEST(Parallel, NestedLoopsTerminate) {
  std::atomic<int> done = 0;
  parallel_for(8, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      parallel_for(10, 1, [&](std::size_t b, std::size_t e) { done += static_cast<int>(e - b); });
    }
  });
  EXPECT_EQ(done, 80);
}

}  // namespace
}  // namespace steelyard::parallel_test
