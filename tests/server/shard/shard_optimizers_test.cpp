// Every optimizer on shards: the same bits for every division into slices and shards, per-tensor norms over
// several slices, and resumption from saved state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/server/shard/shard_case.h"

namespace steelyard::shard_optimizers_test {
namespace {

using test::ShardCase;
using test::worker_node;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = nn::Optimizer::Kind;
using Floats = std::vector<float>;

constexpr Kind kinds[] = {Kind::sgd,   Kind::momentum, Kind::nesterov, Kind::adam,
                          Kind::adamw, Kind::lars,     Kind::lamb};

Job job_of(Kind kind, std::uint64_t slice_size = 1000, std::uint32_t shards = 1) {
  Job job;
  append(job.layout, "a.weight", {13, 7});
  append(job.layout, "a.bias", {13}, Rule::step, 0);
  append(job.layout, "b.weight", {57});
  append(job.layout, "c.weight", {3});
  append(job.layout, "c.mean", {9}, Rule::ema, 0, 0.8);
  job.optimizer = {.kind = kind, .momentum = 0.9, .weight_decay = 0.01, .trust = 0.02};
  job.layout = nn::layout_for(job.optimizer, job.layout);
  job.layout.slice_size = slice_size;
  job.train_samples = 1024;
  job.schedule.base = 0.05;
  job.shards = shards;
  return job;
}

// The state of all shards, in the order of the model: parameters, then each state slot.
struct Held {
  std::vector<Floats> slots;
  std::uint64_t steps = 0;
  friend bool operator==(const Held&, const Held&) = default;
};

Held held_by(const std::vector<std::unique_ptr<ShardCase>>& shards, const Job& job) {
  Held held{std::vector<Floats>(1 + nn::state_slots(job.optimizer))};
  for (const auto& it : shards) {
    for (const SliceMemory& slice : it->shard.slices()) {
      for (std::uint32_t slot = 0; slot < held.slots.size(); ++slot) {
        const Blob values = slice.copy_of(slot);
        held.slots[slot].insert(held.slots[slot].end(), values.floats().begin(), values.floats().end());
      }
      held.steps = slice.steps();
    }
  }
  return held;
}

Held initial(const Job& job) {
  Held held{std::vector<Floats>(1 + nn::state_slots(job.optimizer), Floats(job.layout.size())), 0};
  for (std::uint64_t i = 0; i < job.layout.size(); ++i) held.slots[0][i] = test::gradient(1'000'000, i) / 8;
  return held;
}

// The state after rounds [first, last), started from `from`.
Held trained(const Job& job, const Held& from, Round first, Round last) {
  std::vector<std::unique_ptr<ShardCase>> shards;
  for (std::uint32_t slot = 0; slot < job.shards; ++slot) {
    ShardCase& it = *shards.emplace_back(std::make_unique<ShardCase>(job, slot));
    for (std::uint32_t number = 0; number < it.slices.size(); ++number) {
      const Slice& slice = it.slices[number];
      for (std::uint32_t state = 0; state < from.slots.size(); ++state) {
        const auto values = std::span(from.slots[state]).subspan(slice.begin, slice.size());
        it.deliver(test::checkpointer_node,
                   StateChunk{ShardCase::term, first, number, state, from.steps, Blob::copy_of(values)});
      }
    }
    for (Round round = first; round < last; ++round) {
      it.open(round, {round * 8, round * 8 + 8});
      it.finish(round, {round * 8, round * 8 + 5});
      it.finish(round, {round * 8 + 5, round * 8 + 8});
    }
  }
  return held_by(shards, job);
}

TEST(ShardOptimizers, SlicesAndShardsDoNotChangeTheBits) {
  for (const Kind kind : kinds) {
    const Job whole = job_of(kind);
    const Held right = trained(whole, initial(whole), 0, 5);
    EXPECT_EQ(right.steps, 5U);
    for (const std::uint64_t slice_size : {1, 2, 5, 16, 33}) {
      for (const std::uint32_t shards : {1, 2, 3, 7}) {
        const Job job = job_of(kind, slice_size, shards);
        ASSERT_EQ(trained(job, initial(job), 0, 5), right)
            << static_cast<int>(kind) << ", slices of " << slice_size << " on " << shards;
      }
    }
  }
}

// Factors that are powers of two are exact: applying them to ranges or to the whole job gives the same bits.
TEST(ShardOptimizers, RangeFactorsScaleRateAndDecay) {
  for (const Kind kind : kinds) {
    Job plain = job_of(kind, 16, 2), factors = plain;
    plain.schedule.base *= 0.25;
    plain.optimizer.weight_decay *= 4;
    for (Range& range : factors.layout.ranges) range.rate = 0.25, range.decay *= 4;
    const Held right = trained(plain, initial(plain), 0, 5);
    EXPECT_EQ(trained(factors, initial(factors), 0, 5), right) << static_cast<int>(kind);
    for (Range& range : factors.layout.ranges) range.rate = range.rule == Rule::step ? 0 : 1;
    const Held held = trained(factors, initial(factors), 0, 1), first = initial(factors);
    for (const Range& range : factors.layout.ranges) {
      if (range.rule != Rule::step) continue;
      for (std::uint64_t i = range.begin; i < range.end; ++i)
        ASSERT_EQ(held.slots[0][i], first.slots[0][i]) << static_cast<int>(kind) << ", float " << i;
    }
  }
}

TEST(ShardOptimizers, ContinuesFromSavedState) {
  for (const Kind kind : kinds) {
    const Job job = job_of(kind, 16, 2), other = job_of(kind, 5, 3);
    const Held right = trained(job, initial(job), 0, 6);
    const Held half = trained(job, initial(job), 0, 2);
    EXPECT_EQ(half.steps, 2U);
    EXPECT_EQ(trained(other, half, 2, 6), right) << static_cast<int>(kind);
  }
}

// |step| / |w| by definition, so LARS and LAMB on many slices equal those on one tensor.
TEST(ShardOptimizers, TheTrustRatioIsThatOfTheWholeTensor) {
  const Job job = job_of(Kind::lamb, 5, 2);
  const Held before = initial(job), after = trained(job, before, 0, 1);
  const auto norm = [](auto value, std::uint64_t begin, std::uint64_t end) {
    double squares = 0;
    for (std::uint64_t i = begin; i < end; ++i) squares += value(i) * value(i);
    return std::sqrt(squares);
  };
  for (const Range& range : job.layout.ranges) {
    const auto w = [&](std::uint64_t i) { return double{before.slots[0][i]}; };
    const auto moved = [&](std::uint64_t i) { return double{after.slots[0][i]} - w(i); };
    const double ratio = norm(moved, range.begin, range.end) / norm(w, range.begin, range.end);
    if (range.norm_group != 0) {
      EXPECT_NEAR(ratio, job.schedule.base, 1e-5);
    } else if (range.rule == Rule::step) {
      EXPECT_GT(std::abs(ratio - job.schedule.base), 1e-3)
          << "otherwise the trust ratio has no effect in this test";
    }
  }
}

TEST(ShardOptimizers, ATensorClosesWhenAllItsSlicesAreCovered) {
  for (const bool clip_barrier : {false, true}) {
    ShardCase it(job_of(Kind::lars, 40));
    it.load();
    ASSERT_EQ(it.slices[0].range, it.slices[2].range) << "a.weight";
    ASSERT_NE(it.slices[2].range, it.slices[3].range) << "a.bias";
    it.open(0, {0, 8}, clip_barrier);
    it.deliver(worker_node(1), it.push(0, {0, 8}, 2));
    it.deliver(worker_node(1), it.push(0, {0, 8}, 0));
    EXPECT_EQ(it.shard.slices()[0].version(), 0U);
    it.deliver(worker_node(1), it.push(0, {0, 8}, 0));
    EXPECT_EQ(it.shard.counts().repeated, 1U);
    it.deliver(worker_node(1), it.push(0, {0, 4}, 1));
    it.deliver(worker_node(1), it.push(0, {4, 8}, 1));
    for (const std::uint32_t slice : {0, 1, 2})
      EXPECT_EQ(it.shard.slices()[slice].version(), clip_barrier ? 0U : 1U);
    for (std::uint32_t slice = 3; slice < it.slices.size(); ++slice)
      it.deliver(worker_node(1), it.push(0, {0, 8}, slice));
    EXPECT_THAT(it.sent<Covered>(), SizeIs(clip_barrier ? 1 : 0));
    if (clip_barrier) it.deliver(scheduler_node, Commit{it.term, 0, 0.5});
    EXPECT_EQ(it.shard.version(), 1U);
    EXPECT_THAT(it.sent<Closed>(), SizeIs(1));
  }
}

}  // namespace
}  // namespace steelyard::shard_optimizers_test
