#include "worker/compute/throttle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"

namespace steelyard::throttle_test {
namespace {

// Uses this thread's processor for `time`.
void work(Duration time) {
  const Duration until = thread_cpu_time() + time;
  while (thread_cpu_time() < until) {
  }
}

TEST(Throttle, StretchesTheWholeWorkAndNotEachPart) {
  ThrottleClock clock(Throttle::parse("3", "1"));
  work(milliseconds(5));  // before the beginning: not counted
  const Time start = steady_now();
  const Duration cpu = thread_cpu_time();
  for (int part = 0; part < 10; ++part) {
    clock.begin();
    work(milliseconds(1));
    clock.rest();
  }
  // Oversleeping is subtracted from later parts, but the sum never falls short of the work of ten parts.
  EXPECT_GE(seconds(steady_now() - start), 3 * 0.010);
  EXPECT_GE(seconds(thread_cpu_time() - cpu), 0.010);
}

TEST(Throttle, FollowsChangesOfSlowness) {
  ThrottleClock clock(Throttle::parse("1, 5@0.05", "1"));
  clock.begin();
  const Time start = steady_now();
  work(milliseconds(2));
  clock.rest();  // at full speed
  while (steady_now() - start < milliseconds(50)) {
  }
  clock.begin();
  work(milliseconds(5));
  clock.rest();
  EXPECT_GE(seconds(steady_now() - start), 0.050 + 5 * 0.005);
}

TEST(Throttle, ASimulatedCpuShareSlowsAndIsReported) {
  ThrottleClock clock(Throttle::parse("2", "0.25"));
  EXPECT_EQ(clock.take_share(), 1) << "nothing is known yet";
  clock.begin();
  const Time start = steady_now();
  work(milliseconds(2));
  clock.rest();
  EXPECT_GE(seconds(steady_now() - start), 8 * 0.002);
  EXPECT_NEAR(clock.take_share().value_or(-1), 0.25, 1e-9);
  EXPECT_EQ(clock.take_share(), 1) << "of the time since the last call";
  EXPECT_EQ(ThrottleClock(Throttle::parse("2", "1")).share_at(steady_now()), std::nullopt);
  EXPECT_DOUBLE_EQ(clock.share_at(steady_now()).value_or(-1), 0.25);
  EXPECT_EQ(ThrottleClock(Throttle::parse("2", "1")).take_share(), std::nullopt);
}

// The work spans the change of level, so both levels are reported.
TEST(Throttle, ReportsTheMeanShareOverItsWork) {
  ThrottleClock clock(Throttle::parse("1", "1, 0.5@0.3"));
  clock.begin();
  const Time start = steady_now();
  double lowest = 1, highest = 0;
  while (seconds(steady_now() - start) < 0.35) {
    work(milliseconds(1));
    clock.rest();
    const double cpu = clock.take_share().value_or(-1);
    lowest = std::min(lowest, cpu), highest = std::max(highest, cpu);
  }
  EXPECT_EQ(lowest, 0.5);
  EXPECT_EQ(highest, 1);
}

// Ten empty micro-batches.
class TenMicroBatches final : public Samples {
 public:
  const nn::MicroBatch* next() override { return given < 10 ? &batches_[given++] : nullptr; }
  [[nodiscard]] bool at_end() const override { return given == 10; }
  std::size_t given = 0;

 private:
  std::array<nn::MicroBatch, 10> batches_{};
};

class BusyEngine final : public Engine {
 public:
  nn::Sums train(std::span<const float>, Samples& samples, std::span<float>,
                 const FinalRange& on_final) override {
    nn::Sums sums;
    while (samples.next() != nullptr) {
      work(milliseconds(1));
      ++sums.correct;
      if (samples.at_end()) on_final(0, 1);
    }
    return sums;
  }
  nn::Sums evaluate(std::span<const float>, Samples& samples) override {
    return train({}, samples, {}, [](std::uint64_t, std::uint64_t) {});
  }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return {4, 1}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 77; }
  std::optional<double> take_share() override { return share; }

  std::optional<double> share;
};

TEST(ThrottledEngine, ComputesTheSameMoreSlowly) {
  ThrottledEngine engine(std::make_unique<BusyEngine>(), Throttle::parse("3", "1"));
  EXPECT_EQ(engine.bytes(), 77U);
  EXPECT_EQ(engine.micro_batch_sizes(), (std::vector<std::uint32_t>{4, 1}));
  TenMicroBatches samples;
  const Time start = steady_now();
  double final_after = 0;
  const nn::Sums sums = engine.train({}, samples, {}, [&](std::uint64_t begin, std::uint64_t end) {
    EXPECT_EQ(begin, 0U);
    EXPECT_EQ(end, 1U);
    final_after = seconds(steady_now() - start);
  });
  EXPECT_EQ(sums.correct, 10U);
  EXPECT_GE(final_after, 0.030) << "a range is final no sooner than on a slower machine";
  samples.given = 0;
  EXPECT_EQ(engine.evaluate({}, samples).correct, 10U);
  EXPECT_GE(seconds(steady_now() - start), 0.060) << "over both, since oversleeping is subtracted later";
}

// Works on another device for 10 ms a range, while the calling thread sleeps.
class DistantEngine final : public Engine {
 public:
  nn::Sums train(std::span<const float>, Samples& samples, std::span<float>,
                 const FinalRange& on_final) override {
    while (samples.next() != nullptr) {
    }
    const Time start = steady_now();
    for (std::uint64_t range = 0; range < 2; ++range) {
      std::this_thread::sleep_for(start + (range + 1) * milliseconds(10) - steady_now());
      on_final(range, range + 1);
    }
    return {.correct = 7};
  }
  nn::Sums evaluate(std::span<const float>, Samples& samples) override {
    return train({}, samples, {}, [](std::uint64_t, std::uint64_t) {});
  }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return {1}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }
  [[nodiscard]] WorkPlace work_place() const override { return WorkPlace::other_device; }
};

// The calling thread uses no processor time; and if it slept longer, the device would continue meanwhile.
TEST(ThrottledEngine, DelaysResultsOfOtherDevices) {
  ThrottledEngine engine(std::make_unique<DistantEngine>(), Throttle::parse("3", "1"));
  EXPECT_EQ(engine.work_place(), WorkPlace::other_device);
  TenMicroBatches samples;
  const Time start = steady_now();
  std::vector<double> final_times;
  std::vector<std::uint64_t> begins;
  const auto now = [&] { return seconds(steady_now() - start); };
  const nn::Sums sums = engine.train({}, samples, {}, [&](std::uint64_t begin, std::uint64_t) {
    begins.push_back(begin);
    final_times.push_back(now());
  });
  EXPECT_EQ(sums.correct, 7U);
  EXPECT_EQ(begins, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_GE(final_times.at(0), 0.030);
  EXPECT_GE(final_times.at(1), 0.060);
  samples.given = 0;
  EXPECT_EQ(engine.evaluate({}, samples).correct, 7U);
  EXPECT_GE(now(), 0.120) << "over both, since oversleeping is subtracted later";
}

TEST(ThrottledEngine, MultipliesItsShareByTheEngines) {
  auto inner = std::make_unique<BusyEngine>();
  BusyEngine& busy = *inner;
  ThrottledEngine engine(std::move(inner), Throttle::parse("1", "0.5"));
  EXPECT_EQ(engine.take_share(), 1) << "nothing was computed yet";
  for (const double left : {1.0, 0.5}) {
    busy.share = left;
    TenMicroBatches samples;
    (void)engine.evaluate({}, samples);
    EXPECT_NEAR(engine.take_share().value_or(-1), 0.5 * left, 1e-9);
  }
  ThrottledEngine slow(std::make_unique<BusyEngine>(), Throttle::parse("2", "1"));
  EXPECT_EQ(slow.take_share(), std::nullopt) << "a slower machine is not a shared one";
}

TEST(Throttle, RefusesInvalidValues) {
  const auto refusal = [](const char* slow, const char* cpu) -> std::string {
    try {
      (void)Throttle::parse(slow, cpu);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration);
      return failure.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("1000", "0.01"), "accepted");
  EXPECT_EQ(refusal("0.5", "1"), "slow = \"0.5\": give " + Throttle::slow_expected());
  EXPECT_EQ(refusal("1", "1.5"), "cpu = \"1.5\": give " + Throttle::cpu_expected());
  EXPECT_EQ(refusal("1", "0"), "cpu = \"0\": give " + Throttle::cpu_expected());
  for (const char* bad : {"", "0.9", "1001", "2, 0.5@3", "2, 3@0"})
    EXPECT_FALSE(Throttle::is_slow(bad)) << bad;
  for (const char* bad : {"", "0", "1.1", "1, 2@3"}) EXPECT_FALSE(Throttle::is_cpu(bad)) << bad;
}

}  // namespace
}  // namespace steelyard::throttle_test
