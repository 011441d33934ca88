// A seeded generator sends duplicate, reordered, overlapping, stale, early, cut and malformed pushes, and
// pushes that are not finite. No position is counted twice or lost, every round closes, and the parameters
// equal PlainLoop's bit for bit.
#include <bitset>
#include <cmath>
#include <limits>

#include "tests/server/shard/shard_case.h"

namespace steelyard::shard_property_test {
namespace {

using test::ShardCase;
using test::worker_node;

constexpr std::uint64_t batch = 32, rounds = 6;
using Bits = std::bitset<batch * rounds>;

Interval round_positions(Round round) { return {round * batch, (round + 1) * batch}; }

// Drives one shard, and models it with one bit per position and slice.
class Storm {
 public:
  explicit Storm(std::uint64_t seed) : random_(seed), it_(job(seed)), plain_(it_.job) {
    covered_.resize(it_.slices.size());
    it_.load();
  }

  void run() {
    for (round_ = 0; round_ < rounds; ++round_) {
      for (int i = 0; i < 20; ++i) disturb();  // before its BeginRound
      it_.open(round_, round_positions(round_), clip_barrier_ = random_.below(3) == 0);
      opened_ = round_ + 1;
      for (const auto& [from, push] : std::exchange(held_, {})) expect_counted(push);
      for (std::uint64_t i = random_.below(60); i > 0 && it_.shard.version() == round_; --i) disturb();
      finish_round();
      if (::testing::Test::HasFatalFailure()) return;
      plain_.round(round_positions(round_));
      ASSERT_EQ(it_.parameters(), plain_.parameters) << "round " << round_;
    }
    ASSERT_GT(it_.shard.counts().repeated, 0U);
    ASSERT_GT(it_.shard.counts().malformed, 0U);
  }
  [[nodiscard]] std::uint64_t refused() const { return it_.shard.counts().refused; }

 private:
  static Job job(std::uint64_t seed) {
    Job made = test::shard_job(3 + seed % 11, 1 + seed % 5,
                               seed % 2 == 0 ? nn::Optimizer::Kind::momentum : nn::Optimizer::Kind::sgd);
    return made;
  }
  bool covered(std::uint32_t slice, Interval positions) const {
    for (Position p = positions.begin; p < positions.end; ++p) {
      if (covered_[slice].test(p)) return true;
    }
    return false;
  }
  // Updates the model for a push that the shard's ledger accepts.
  void expect_counted(const Push& push) {
    if (push.piece.round != round_ || !round_positions(round_).contains(push.piece.positions)) return;
    if (covered(push.slice, push.piece.positions)) return;
    for (Position p = push.piece.positions.begin; p < push.piece.positions.end; ++p)
      covered_[push.slice].set(p);
  }
  Interval some_part(Interval whole) {
    const Position begin = whole.begin + random_.below(whole.size());
    return {begin, begin + 1 + random_.below(std::min<Position>(whole.end - begin, 9))};
  }

  void disturb() {
    const NodeId from = worker_node(1 + random_.below(3));
    const auto slice = static_cast<std::uint32_t>(random_.below(it_.slices.size()));
    switch (random_.below(7)) {
      case 0:
        return send(from, spoiled(it_.push(round_, some_part(round_positions(round_)), slice)), false);
      case 1:  // stale
        if (round_ == 0) return;
        return send(from, it_.push(round_ - 1, some_part(round_positions(round_ - 1)), slice), false);
      case 2:  // an earlier push, from any worker
        if (history_.empty()) return;
        return send(from, Push(history_[random_.below(history_.size())]), true);  // a copy: history grows
      case 3:                                                                     // far ahead
        return send(from, it_.push(round_ + 2, some_part(round_positions(round_)), slice), false);
      case 4:  // beyond the end of its round, which is known once the round is open
        return send(from, stretched(it_.push(round_, some_part(round_positions(round_)), slice)), true);
      default:
        return send(from, it_.push(round_, some_part(round_positions(round_)), slice), true);
    }
  }

  void send(NodeId from, const Push& push, bool sound) {
    if (sound) {
      history_.push_back(push);
      if (push.piece.round == opened_ && opened_ == round_) {
        held_.emplace_back(from, push);  // the limit is far away
      } else {
        expect_counted(push);
      }
    }
    it_.deliver(from, push);
    check();
  }
  Push stretched(Push push) {
    push.piece.positions.end = random_.below(2) == 0 ? round_positions(round_).end + 1 : UINT64_MAX;
    return push;
  }
  Push spoiled(Push push) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    switch (random_.below(11)) {
      case 0:
        push.term += 1;
        break;
      case 1:
        push.slice += static_cast<std::uint32_t>(it_.slices.size());
        break;
      case 2:
        push.slice = UINT32_MAX;
        break;
      case 3:
        push.piece.positions.end = push.piece.positions.begin;
        break;
      case 4:
        std::swap(push.piece.positions.begin, push.piece.positions.end);
        break;
      case 5:
        push.weight = random_.below(2) == 0 ? nan : 0;
        break;
      case 6:
        push.weight = -1;
        break;
      case 7:
        push.values = {};
        break;
      case 8:
        push.values = ShardCase::constant(it_.slices[push.slice].size() + 1, 1);
        break;
      case 9:
        push.values = opened_ > round_ ? not_finite(push.values) : Blob();  // earlier, it would be held
        break;
      default:
        push.values = odd_address(push.values);
        break;
    }
    return push;
  }
  Blob not_finite(const Blob& values) {
    std::vector<float> spoiled(values.floats().begin(), values.floats().end());
    constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
    spoiled[random_.below(spoiled.size())] = random_.below(2) == 0 ? nan : -INFINITY;
    return Blob::copy_of(spoiled);
  }
  static Blob odd_address(const Blob& values) {
    auto bytes = std::make_shared<std::vector<std::byte>>(values.size() + 1);
    const std::span view = std::span(*bytes).subspan(1);
    return {std::move(bytes), view};
  }

  void check() const {
    for (std::uint32_t slice = 0; slice < covered_.size(); ++slice) {
      const SliceMemory& memory = it_.shard.slices()[slice];
      Bits now;
      if (memory.version() > round_) continue;
      for (const Interval& run : memory.coverage().intervals()) {
        for (Position p = run.begin; p < run.end; ++p) now.set(p);
      }
      Bits expected = covered_[slice];
      for (Position p = 0; p < round_ * batch; ++p) expected.reset(p);
      ASSERT_EQ(now, expected) << "slice " << slice;
    }
  }

  // Pushes exactly the gaps until the round closes, as a scheduler would arrange.
  void finish_round() {
    for (int i = 0; i < 200 && it_.shard.version() == round_; ++i) {
      it_.wake(0.5);
      it_.deliver(scheduler_node, SchedulerBeat{it_.term});
      if (clip_barrier_ && !it_.sent<Covered>().empty()) {
        it_.deliver(scheduler_node, Commit{it_.term, round_, 1.0});
        continue;
      }
      for (std::uint32_t slice = 0; slice < it_.slices.size(); ++slice) {
        if (it_.shard.slices()[slice].version() > round_) continue;
        for (const Interval& gap : it_.shard.slices()[slice].coverage().gaps(round_positions(round_), 2)) {
          send(worker_node(4), it_.push(round_, gap, slice), true);
        }
      }
    }
    ASSERT_EQ(it_.shard.version(), round_ + 1) << "the round does not close";
    for (const Bits& bits : covered_) ASSERT_EQ(bits.count(), (round_ + 1) * batch);
  }

  Random random_;
  ShardCase it_;
  test::PlainLoop plain_;
  Round round_ = 0, opened_ = 0;
  bool clip_barrier_ = false;
  std::vector<Bits> covered_;  // by slice
  std::vector<Push> history_;
  std::vector<std::pair<NodeId, Push>> held_;
};

TEST(ShardStorm, EveryPositionCountsOnceForAnyPushes) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Storm storm(seed);
    storm.run();
    if (HasFatalFailure()) return;
    refused += storm.refused();
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace steelyard::shard_property_test
