// Helpers that run a check under each schedule of the host executor, or without a barrier. A device has only
// its own schedule and cannot skip barriers.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#if !defined(STEELYARD_ON_DEVICE)
#include "nn/cuda/host/executor.h"
#endif

namespace steelyard::nn::cuda {

// Sanitizers are up to thirty times slower: they run the smallest cases that still cover all code.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool thorough = false;
#else
constexpr bool thorough = true;
#endif

#if defined(STEELYARD_ON_DEVICE)

inline void in_each_schedule(const std::function<void()>& check) { check(); }
inline void expect_barriers_of(const std::string&, const std::function<bool()>&) {
  GTEST_SKIP() << "only the host executor can skip a barrier";
}

#else

inline void in_each_schedule(const std::function<void()>& check) {
  host::Executor& executor = host::Executor::mine();
  const auto with = [&](host::Schedule schedule, std::uint64_t seed) {
    SCOPED_TRACE(testing::Message() << "schedule " << static_cast<int>(schedule) << ", seed " << seed);
    executor.choose(schedule, seed);
    check();
    executor.choose(host::Schedule::forward);
  };
  with(host::Schedule::forward, 1);
  with(host::Schedule::reverse, 1);
  with(host::Schedule::random, 1);
  with(host::Schedule::random, 2);
}

// `right` returns whether all results are correct. For each barrier of the file, results must be wrong in at
// least one schedule without that barrier.
inline void expect_barriers_of(const std::string& file, const std::function<bool()>& right) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the effect of a missing barrier is undefined here";
#endif
  host::Executor& executor = host::Executor::mine();
  executor.take_barriers();
  EXPECT_TRUE(right()) << "with all barriers";
  std::size_t seen = 0;
  for (const std::string& barrier : executor.take_barriers()) {
    if (barrier.find(file + ":") == std::string::npos) continue;
    ++seen;
    executor.leave_out(barrier);
    bool noticed = false;
    for (const auto schedule : {host::Schedule::forward, host::Schedule::reverse, host::Schedule::random}) {
      executor.choose(schedule);
      noticed = noticed || !right();
    }
    EXPECT_TRUE(noticed) << "results are correct without the barrier in " << barrier;
    executor.leave_out({});
    executor.choose(host::Schedule::forward);
  }
  EXPECT_GT(seen, 0U) << file << ": no barrier was reached";
}

#endif

}  // namespace steelyard::nn::cuda
