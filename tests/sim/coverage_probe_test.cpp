#include "sim/invariants_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "protocol/sync_mode.h"

namespace steelyard::sim::coverage_probe_test {
namespace {

constexpr NodeId self{Role::shard, 2}, checkpointer{Role::checkpointer, 1}, worker{Role::worker, 3};

// A shard with one slice of one float, and a probe that checks it.
class CoverageProbeTest : public testing::Test {
 protected:
  explicit CoverageProbeTest(const SyncMode& mode = {}) : shard_(Shard::Options{self, {}, {}}), probe_(mode) {
    Job job;
    append(job.layout, "positions", {1});
    job.layout.slice_size = 1;
    job.train_samples = 10'000;
    job.sync = mode;
    job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
    job.schedule.base = 1;
    const float zero = 0;
    send(scheduler_node, Welcome{1, 0, job});
    send(checkpointer, StateChunk{1, 0, 0, 0, 0, Blob::copy_of(std::span(&zero, 1))});
    EXPECT_TRUE(shard_.loaded());
  }

  template <class Sent>
  void send(NodeId from, Sent sent) {
    Outbox out(self);
    shard_.step(Time{milliseconds(1)}, {from, self, Message(std::in_place_type<ToShard>, std::move(sent))},
                out);
  }
  void open(Round round, Interval positions, const LocalSteps& local = {}) {
    send(scheduler_node, BeginRound{1, round, 0, positions, positions.size(), false, false, local});
    probe_.open({.round = round, .positions = positions});
  }
  void push(const Piece& piece, double gradient) {
    const auto value = static_cast<float>(gradient);
    send(worker,
         Push{1, piece, static_cast<double>(piece.positions.size()), 0, Blob::copy_of(std::span(&value, 1))});
  }

  Shard shard_;
  CoverageProbe probe_;
};

class RoundCoverageProbe : public CoverageProbeTest {
 protected:
  RoundCoverageProbe() { open(0, {512, 1024}); }
  void push(Interval positions, double gradient) {
    CoverageProbeTest::push({.id = 1, .positions = positions}, gradient);
  }
};

TEST_F(RoundCoverageProbe, AcceptsPiecesThatCoverTheRound) {
  push({700, 1024}, probe_.gradient({700, 1024}));
  EXPECT_EQ(probe_.look(self, shard_), "") << "the round has not closed yet";
  push({512, 700}, probe_.gradient({512, 700}));
  ASSERT_EQ(shard_.version(), 1U);
  EXPECT_EQ(probe_.look(self, shard_), "");
  EXPECT_EQ(probe_.look(self, shard_), "") << "a second check changes nothing";
}

TEST_F(RoundCoverageProbe, DetectsAGradientOfOtherPositions) {
  push({700, 1024}, probe_.gradient({700, 1024}));
  push({512, 700}, probe_.gradient({513, 701}));
  ASSERT_EQ(shard_.version(), 1U);
  ASSERT_NE(probe_.gradient({512, 700}), probe_.gradient({513, 701})) << "or the test shows nothing";
  EXPECT_THAT(probe_.look(self, shard_), testing::HasSubstr("exactly once"));
}

// Two hubs that mix after every third round, with shares that change from round to round.
class HubCoverageProbe : public CoverageProbeTest {
 protected:
  HubCoverageProbe() : CoverageProbeTest(parse_sync("mll:1:3:2")) {}

  // Hub 1 takes the first `first` of a round's 500 positions, hub 2 the others. The gradient pushed for hub 2
  // belongs to positions shifted by `away`.
  void round(Round round, std::uint64_t first, std::uint64_t away = 0) {
    const Interval all{500 * round, 500 * round + 500};
    const LocalSteps local{1, 1, 100};
    open(round, all, local);
    const Position cut = all.begin + first;
    for (const auto& [positions, hub] : {std::pair{Interval{all.begin, cut}, 1U}, {{cut, all.end}, 2U}}) {
      const Piece piece{.id = 2 * round + hub,
                        .round = round,
                        .positions = positions,
                        .whole = all,
                        .local = local,
                        .hub = hub};
      (void)probe_.pushed({piece, {}});
      const std::uint64_t by = hub == 2 ? away : 0;
      push(piece, probe_.gradient({positions.begin + by, positions.end + by}));
    }
    ASSERT_EQ(shard_.version(), round + 1);
  }
};

TEST_F(HubCoverageProbe, AcceptsAnySharesOfTheHubs) {
  const std::vector<std::uint64_t> firsts{250, 400, 100, 300, 50, 450, 200};
  for (Round k = 0; k < firsts.size(); ++k) {
    round(k, firsts[k]);
    EXPECT_EQ(probe_.look(self, shard_), "");
  }
}

TEST_F(HubCoverageProbe, DetectsAGradientOfOtherPositions) {
  round(0, 250);
  round(1, 400);
  EXPECT_EQ(probe_.look(self, shard_), "");
  round(2, 100, 5);
  ASSERT_NE(probe_.gradient({1100, 1500}), probe_.gradient({1105, 1505})) << "or the test shows nothing";
  EXPECT_THAT(probe_.look(self, shard_), testing::HasSubstr("exactly once"));
}

TEST(CoverageProbe, GradientsAreAdditiveIntegers) {
  const CoverageProbe probe;
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const Position begin = random.below(100'000), middle = begin + random.below(5000),
                   end = middle + random.below(5000);
    const double whole = probe.gradient({begin, end});
    EXPECT_EQ(whole, probe.gradient({begin, middle}) + probe.gradient({middle, end}));
    EXPECT_EQ(whole, std::floor(whole));
  }
  EXPECT_EQ(probe.gradient({7, 7}), 0);
}

}  // namespace
}  // namespace steelyard::sim::coverage_probe_test
