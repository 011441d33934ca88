#include "worker/profiler.h"

#include <gmock/gmock.h>

#include <functional>

namespace steelyard::profiler_test {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

struct Measured {
  Ready ready;
  std::vector<std::uint64_t> sizes;  // in their order
  double seconds = 0;
};

// Runs the phase on a machine with these times. `holds`: the largest batch that fits in its memory.
Measured measured(Profiler profiler, const std::function<double(std::uint64_t)>& times,
                  std::uint64_t holds = UINT64_MAX) {
  Measured it;
  Time now{};
  while (const auto size = profiler.next(now)) {
    it.sizes.push_back(*size);
    if (*size > holds) {
      profiler.did_not_fit();
      continue;
    }
    profiler.took(times(*size));
    now = now + from_seconds(times(*size));
  }
  it.ready = profiler.result();
  it.seconds = seconds(now - Time{});
  return it;
}

std::vector<std::uint64_t> samples(const Ready& ready) {
  std::vector<std::uint64_t> all;
  for (const BatchTime& it : ready.times) all.push_back(it.samples);
  return all;
}

double line(std::uint64_t batch) { return 1e-3 + 1e-4 * static_cast<double>(batch); }

TEST(Profiler, TheBatchDoublesUpToTheLimit) {
  const Measured it = measured(Profiler(1, 20), line);
  EXPECT_THAT(samples(it.ready), ElementsAre(1, 2, 4, 8, 16, 20));
  EXPECT_EQ(it.ready.most, 0U) << "all of them fitted";
  for (const BatchTime& each : it.ready.times) EXPECT_DOUBLE_EQ(each.seconds, line(each.samples));
  EXPECT_EQ(it.sizes[6], 1U) << "then all sizes again";
  EXPECT_EQ(it.sizes[7], 2U);
}

TEST(Profiler, SizesAreWholeGrains) {
  EXPECT_THAT(samples(measured(Profiler(32, 200), line).ready), ElementsAre(32, 64, 128, 192));
  EXPECT_THAT(samples(measured(Profiler(32, 20), line).ready), ElementsAre(32));
}

TEST(Profiler, TheLargestBatchThatFitsIsTheLimit) {
  const Measured it = measured(Profiler(1, 512), line, 50);
  EXPECT_EQ(it.ready.most, 32U);
  EXPECT_THAT(samples(it.ready), ElementsAre(1, 2, 4, 8, 16, 32));
}

// Another program may take memory while sizes are measured again.
TEST(Profiler, ASizeThatFitsNoMoreIsLeftOut) {
  Profiler profiler(1, 4);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(profiler.next(Time{}));
    profiler.took(0.001);
  }
  ASSERT_EQ(profiler.next(Time{}), 4U);
  profiler.did_not_fit();
  EXPECT_EQ(profiler.result().most, 2U);
  EXPECT_THAT(samples(profiler.result()), ElementsAre(1, 2));
  EXPECT_EQ(profiler.next(Time{}), 1U);
}

TEST(Profiler, TheTimeOfASizeIsTheMedian) {
  int calls = 0;
  const auto hiccup = [&](std::uint64_t) { return ++calls == 1 ? 0.5 : 0.1; };
  const Measured it = measured(Profiler(1, 1), hiccup);
  EXPECT_THAT(it.ready.times, ElementsAre(BatchTime{1, 0.1}));
}

// A machine of any speed ends within the budget, unless its very first batch takes longer.
TEST(Profiler, ThePhaseHasALimit) {
  for (const double slow : {1e-4, 1.0, 10.0, 100.0, 500.0}) {
    const Measured it = measured(Profiler(1, 512), [&](std::uint64_t batch) { return slow * line(batch); });
    EXPECT_LE(it.seconds, seconds(Profiler::budget)) << slow;
    EXPECT_GE(it.ready.times.size(), 1U) << slow;
    EXPECT_LE(it.sizes.size(), 10 * Profiler::most_repeats) << slow;
  }
  const Measured it = measured(Profiler(1, 512), [](std::uint64_t) { return 60; });
  EXPECT_THAT(it.sizes, ElementsAre(1));
}

TEST(Profiler, TrialParametersAreSmallAndNotZero) {
  Layout layout;
  append(layout, "w", {100});
  const Blob blob = trial_parameters(layout);
  ASSERT_THAT(blob.floats(), SizeIs(100));
  int negative = 0;
  for (const float value : blob.floats()) {
    EXPECT_NE(value, 0);
    EXPECT_LE(std::abs(value), 0.05F);
    negative += value < 0 ? 1 : 0;
  }
  EXPECT_GT(negative, 20);
  EXPECT_LT(negative, 80);
}

}  // namespace
}  // namespace steelyard::profiler_test
