// One slice: its ledger, sum and two versions.
#include "server/shard/slice_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bitset>
#include <numeric>
#include <utility>

#include "core/random.h"
#include "nn/optimizer/schedule.h"

namespace steelyard::slice_memory_test {
namespace {

using ::testing::ElementsAre;

const nn::Optimizer plain{nn::Optimizer::Kind::sgd, 0, 0};
const nn::Optimizer momentum{nn::Optimizer::Kind::momentum, 0.9, 0};

Blob blob(std::vector<float> values) { return Blob::copy_of(values); }
std::vector<float> floats(const Blob& it) { return {it.floats().begin(), it.floats().end()}; }

SliceMemory loaded(std::vector<float> values, Rule rule = Rule::step) {
  SliceMemory slice({0, values.size(), 0}, {0, values.size(), rule, true, 0, 0.5}, 0);
  EXPECT_TRUE(slice.load(0, 0, 0, blob(std::move(values))));
  return slice;
}

TEST(SliceMemory, ACopyChangesIndependently) {
  SliceMemory slice = loaded({1, 2});
  SliceMemory copy = slice.copy();
  EXPECT_TRUE(copy.loaded());
  EXPECT_EQ(floats(copy.current()), (std::vector<float>{1, 2}));
  EXPECT_TRUE(copy.add({0, 4}, 4, blob({4, 8})));
  copy.apply(plain, 0.5, 1);
  EXPECT_EQ(floats(copy.current()), (std::vector<float>{0.5, 1}));
  EXPECT_EQ(floats(slice.current()), (std::vector<float>{1, 2})) << "versions are immutable";
  EXPECT_TRUE(slice.cover(0, {0, 4}));
  slice.stand();
  EXPECT_EQ(slice.version(), 1U);
  EXPECT_EQ(slice.coverage().count(), 0U);
  EXPECT_EQ(floats(slice.current()), (std::vector<float>{1, 2}));
  slice.replace([](std::span<float> out) { out[0] = 7, out[1] = 8; });
  EXPECT_EQ(slice.version(), 1U);
  EXPECT_EQ(floats(slice.current()), (std::vector<float>{7, 8}));
  EXPECT_EQ(floats(slice.previous().value()), (std::vector<float>{1, 2}));
}

TEST(SliceMemory, IsLoadedOnceEverySlotIs) {
  SliceMemory slice({4, 6, 0}, {0, 6, Rule::step, 1, 0}, 1);
  EXPECT_FALSE(slice.load(2, 7, 7, blob({1, 2}))) << "no such slot";
  EXPECT_FALSE(slice.load(0, 7, 7, blob({1, 2, 3}))) << "too long";
  EXPECT_FALSE(slice.load(0, 7, 7, {})) << "empty";
  EXPECT_TRUE(slice.load(1, 7, 9, blob({3, 4})));
  EXPECT_FALSE(slice.loaded());
  EXPECT_TRUE(slice.load(0, 7, 9, blob({1, 2})));
  EXPECT_TRUE(slice.loaded());
  EXPECT_EQ(slice.version(), 7U);
  EXPECT_EQ(slice.steps(), 9U);
  EXPECT_THAT(floats(slice.copy_of(0)), ElementsAre(1, 2));
  EXPECT_THAT(floats(slice.copy_of(1)), ElementsAre(3, 4));
}

TEST(SliceMemory, StepsByTheAverageOfThePushes) {
  SliceMemory slice = loaded({10, 20});
  EXPECT_TRUE(slice.add({0, 1}, 1, blob({1, 2})));
  EXPECT_TRUE(slice.add({1, 4}, 3, blob({3, 6})));
  EXPECT_DOUBLE_EQ(slice.sum_of_squares(), 1.0 + 4.0);  // (4 / 4)^2 + (8 / 4)^2
  slice.apply(plain, 0.5, 1.0);
  EXPECT_THAT(floats(slice.current()), ElementsAre(9.5F, 19.0F));
  EXPECT_EQ(slice.version(), 1U);
  EXPECT_EQ(slice.steps(), 1U);
  EXPECT_EQ(slice.coverage().count(), 0U);
}

// A blob as a link delivers it, in memory without other owners.
Blob received(std::vector<float> values) {
  auto owned = std::make_shared<std::vector<float>>(std::move(values));
  const auto bytes = std::as_writable_bytes(std::span(*owned));
  return Blob::received(std::move(owned), bytes);
}

TEST(SliceMemory, ReceivedBlobsAreReusedUnlessShared) {
  for (const bool held : {false, true}) {
    SliceMemory slice = loaded({10, 20});
    Blob first = received({1, 2});
    const Blob kept = held ? first : Blob();
    ASSERT_TRUE(slice.add({0, 1}, 1, std::exchange(first, {})));
    const Blob second = received({3, 6});
    ASSERT_TRUE(slice.add({1, 3}, 2, second));
    ASSERT_TRUE(slice.add({3, 4}, 1, blob({4, 8})));
    slice.apply(plain, 0.5, 1.0);
    EXPECT_THAT(floats(slice.current()), ElementsAre(9, 18)) << held;
    EXPECT_THAT(floats(second), ElementsAre(3, 6)) << "only the first blob may be overwritten";
    if (held) {
      EXPECT_THAT(floats(kept), ElementsAre(1, 2)) << "a shared blob must not change";
    }
  }
}

TEST(SliceMemory, TheClipScaleMultipliesTheGradient) {
  SliceMemory slice = loaded({0});
  ASSERT_TRUE(slice.add({0, 2}, 2, blob({8})));
  slice.apply(plain, 1.0, 0.25);
  EXPECT_THAT(floats(slice.current()), ElementsAre(-1));
}

TEST(SliceMemory, AppliesEachRuleOfTheRangeTable) {
  SliceMemory means = loaded({2}, Rule::mean);
  ASSERT_TRUE(means.add({0, 2}, 2, blob({6})));
  means.apply(plain, 100, 1);
  EXPECT_THAT(floats(means.current()), ElementsAre(5)) << "2 + 6 / 2: differences of parameters";
  SliceMemory statistics = loaded({2}, Rule::ema);
  ASSERT_TRUE(statistics.add({0, 2}, 2, blob({8})));
  EXPECT_EQ(statistics.sum_of_squares(), 0) << "excluded from the gradient's norm";
  statistics.apply(momentum, 100, 0.1);
  EXPECT_THAT(floats(statistics.current()), ElementsAre(3)) << "half of 2, half of 8 / 2, not clipped";
}

// Four pushes of a quarter round each keep as much of the previous average as one push of the whole round.
TEST(SliceMemory, PartsOfARoundMoveAnAverageProportionally) {
  SliceMemory parts = loaded({2}, Rule::ema);
  for (int i = 0; i < 4; ++i) parts.gather({}, 2, blob({8})), parts.step(plain, 100, 8);
  EXPECT_FLOAT_EQ(parts.current().floats()[0], 3) << "half of 2, half of 8 / 2";
  SliceMemory means = loaded({2}, Rule::mean);
  for (int i = 0; i < 4; ++i) means.gather({}, 2, blob({6})), means.step(plain, 100, 8);
  EXPECT_FLOAT_EQ(means.current().floats()[0], 5) << "2 + 4 * 6 / 8";
}

TEST(SliceMemory, ThePreviousVersionStaysUntilReleased) {
  SliceMemory slice = loaded({1});
  EXPECT_FALSE(slice.previous());
  ASSERT_TRUE(slice.add({0, 1}, 1, blob({1})));
  slice.apply(plain, 1, 1);
  ASSERT_TRUE(slice.previous());
  EXPECT_THAT(floats(*slice.previous()), ElementsAre(1));
  slice.release_previous();
  EXPECT_FALSE(slice.previous());
}

// What a slice adds and steps in shared sweeps, against plain sweeps one after the other: every rule, any
// number of pushes in any memory, whichever of them is announced as the last.
class PlainSweeps {
 public:
  PlainSweeps(const nn::Optimizer& optimizer, std::vector<float> values)
      : optimizer_(optimizer),
        values_(std::move(values)),
        state_(values_.size() * nn::state_slots(optimizer)) {}

  void add(const std::vector<float>& push, double weight) {
    if (weight_ == 0) sum_.assign(push.size(), 0);
    for (std::size_t i = 0; i < push.size(); ++i) sum_[i] = weight_ == 0 ? push[i] : sum_[i] + push[i];
    weight_ += weight;
  }
  [[nodiscard]] double squares() const { return nn::sum_of_squares(sum_) / (weight_ * weight_); }
  void step(double rate, double scale, bool together) {
    std::vector<float> next(values_.size());
    const nn::Update update{next, values_, sum_, scale / std::exchange(weight_, 0), steps_++, {}};
    if (together) {
      nn::TensorStep tensor(optimizer_, 1);
      tensor.measure(update, state_);
      tensor.finish(update, state_, rate, tensor.ratio());
    } else {
      nn::step(optimizer_, update, state_, rate, 1);
    }
    values_ = std::move(next);
  }
  [[nodiscard]] const std::vector<float>& values() const { return values_; }

 private:
  const nn::Optimizer optimizer_;
  std::vector<float> values_, state_, sum_;
  double weight_ = 0;
  std::uint64_t steps_ = 0;
};

std::vector<float> random_floats(Random& random, std::size_t size) {
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.uniform() * 2 - 1);
  return values;
}

void compare_with_plain_sweeps(std::uint64_t seed) {
  Random random(seed);
  constexpr auto last = static_cast<std::uint64_t>(nn::Optimizer::Kind::lamb);
  const nn::Optimizer optimizer{static_cast<nn::Optimizer::Kind>(random.below(last + 1)), 0.9, 1e-2};
  const bool together = nn::needs_norms(optimizer), ordered = random.below(2) == 0;
  const std::size_t size = std::vector{1, 4095, 4096, 9001}[random.below(4)];
  const std::uint64_t of_shard = random.below(2) * nn::HostArithmetic::streamed_from;
  const std::uint32_t slots = nn::state_slots(optimizer);
  const Slice place{0, size, 0};
  SliceMemory slice(place, {0, size, Rule::step, 1, together ? 1U : 0U}, slots, ordered,
                    std::make_shared<nn::HostArithmetic>(place, nullptr, size, of_shard));
  PlainSweeps plain(optimizer, random_floats(random, size));
  ASSERT_TRUE(slice.load(0, 0, 0, blob(plain.values())));
  for (std::uint32_t slot = 1; slot <= slots; ++slot)
    ASSERT_TRUE(slice.load(slot, 0, 0, blob(std::vector<float>(size))));
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t pushes = 1 + random.below(6);
    std::vector<std::pair<std::uint64_t, std::vector<float>>> all;
    for (std::uint64_t i = 0; i < pushes; ++i) all.emplace_back(i, random_floats(random, size));
    for (const auto& [i, values] : all) plain.add(values, 2);
    for (std::uint64_t i = 0; i < pushes; ++i) {
      const auto& [position, values] = all[ordered ? pushes - 1 - i : i];
      const Interval at{2 * position, 2 * position + 2};
      Blob push = random.below(2) == 0 ? received(values) : blob(values);
      ASSERT_TRUE(slice.add(at, 2, push, random.below(2) == 0));
    }
    if (random.below(3) == 0) {
      ASSERT_EQ(slice.sum_of_squares(), plain.squares());
    }
    together ? SliceMemory::apply_together({&slice, 1}, optimizer, 0.1, 0.5)
             : slice.apply(optimizer, 0.1, 0.5);
    plain.step(0.1, 0.5, together);
    ASSERT_EQ(floats(slice.current()), plain.values()) << "round " << round;
    slice.release_previous();
  }
}

TEST(SliceMemory, SharedSweepsChangeNoBit) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compare_with_plain_sweeps(seed);
    if (HasFatalFailure()) return;
  }
}

// Versions are immutable; blobs handed out keep their values in later rounds.
TEST(SliceMemory, PublishedVersionsNeverChange) {
  SliceMemory slice = loaded({0, 0, 0});
  std::vector<Blob> versions{slice.current()};
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(slice.add({0, 1}, 1, blob({-1, -1, -1})));
    ASSERT_TRUE(slice.add({1, 2}, 1, blob({-1, -1, -1})));
    slice.apply(plain, 1, 1);
    versions.push_back(slice.current());
    slice.release_previous();
  }
  for (std::size_t version = 0; version < versions.size(); ++version) {
    const auto value = static_cast<float>(version);
    EXPECT_THAT(floats(versions[version]), ElementsAre(value, value, value));
  }
}

TEST(SliceMemory, PushesAreNeverModified) {
  SliceMemory slice = loaded({0});
  const Blob first = blob({1}), second = blob({2});
  ASSERT_TRUE(slice.add({0, 1}, 1, first));
  ASSERT_TRUE(slice.add({1, 2}, 1, second));
  slice.apply(plain, 1, 1);
  EXPECT_THAT(floats(first), ElementsAre(1));
  EXPECT_THAT(floats(second), ElementsAre(2));
}

// Versions that other processes read are contiguous with those of other slices, in one shared segment.
TEST(SliceMemory, VersionsLieInTheSharedPool) {
  const auto pool = std::make_shared<FlatPool>(Memory::shared);
  const Range range{0, 5};
  const auto made = [&](const Slice& place) {
    return SliceMemory(place, range, 0, false, std::make_shared<nn::HostArithmetic>(place, pool, 5));
  };
  SliceMemory left = made({0, 3, 0}), right = made({3, 5, 0});
  ASSERT_TRUE(left.load(0, 4, 9, blob({1, 2, 3})));
  ASSERT_TRUE(right.load(0, 4, 9, blob({4, 5})));
  for (int round = 0; round < 5; ++round) {
    const Blob before = left.current();
    EXPECT_NE(left.current().segment(), nullptr);
    EXPECT_EQ(left.current().segment(), right.current().segment());
    EXPECT_EQ(left.current().floats().data() + 3, right.current().floats().data());
    const std::vector<float> values = floats(before);
    ASSERT_TRUE(left.add({0, 1}, 1, blob({1, 1, 1})));
    ASSERT_TRUE(right.add({0, 1}, 1, blob({1, 1})));
    for (SliceMemory* slice : {&right, &left}) {
      slice->apply(plain, 1, 1);
      slice->release_previous();
    }
    EXPECT_EQ(floats(before), values) << "a version in use must not change";
  }
  EXPECT_THAT(floats(left.current()), ElementsAre(-4, -3, -2));
  EXPECT_THAT(floats(right.current()), ElementsAre(-1, 0));
}

// Random pushes, compared with a model of one bit per position and integer sums.
TEST(SliceMemory, CountsEveryPositionOnceForAnyPushes) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    SliceMemory slice = loaded({0, 0});
    constexpr std::size_t size = 64;
    std::bitset<size> covered;
    float sum = 0;
    const auto value = [](Position p) { return static_cast<float>(hash(p) % 9); };
    const auto push = [&](Interval it) {
      bool fresh = true;
      float pushed = 0;
      for (Position p = it.begin; p < it.end; ++p) {
        fresh &= !covered.test(p);
        pushed += value(p);
      }
      ASSERT_EQ(slice.add(it, static_cast<double>(it.size()), blob({pushed, -pushed})), fresh);
      if (!fresh) return;
      sum += pushed;
      for (Position p = it.begin; p < it.end; ++p) covered.set(p);
    };
    for (int i = 0; i < 40; ++i) {
      const Position begin = random.below(size);
      push({begin, begin + 1 + random.below(std::min<Position>(size - begin, 12))});
      ASSERT_EQ(slice.coverage().count(), covered.count());
    }
    for (const Interval gap : slice.coverage().gaps({0, size})) push(gap);
    ASSERT_TRUE(covered.all());
    slice.apply(plain, 1, 1);
    EXPECT_THAT(floats(slice.current()), ElementsAre(-sum / size, sum / size));
  }
}

TEST(SliceMemoryDeathTest, AnUncheckedPushViolatesAnInvariant) {
  SliceMemory slice = loaded({0, 0});
  EXPECT_DEATH((void)slice.add({0, 1}, 1, blob({1})), "checks a push");
  EXPECT_DEATH(slice.apply(plain, 1, 1), "has a weight");
}

// Workers that take the steps push values of ranges with the rule mean, not differences.
TEST(SliceMemory, WorkersThatTakeTheStepsGetMeansOnly) {
  const nn::Optimizer on_workers{nn::Optimizer::Kind::worker, 0.9, 0.5};
  for (const Rule rule : {Rule::step, Rule::mean}) {
    SliceMemory slice = loaded({10, 20}, rule);
    EXPECT_TRUE(slice.add({0, 1}, 1, blob({1, 2})));
    EXPECT_TRUE(slice.add({1, 4}, 3, blob({3, 6})));
    slice.apply(on_workers, 0.5, 1);
    EXPECT_THAT(floats(slice.current()), ElementsAre(1, 2));
  }
}

}  // namespace
}  // namespace steelyard::slice_memory_test
