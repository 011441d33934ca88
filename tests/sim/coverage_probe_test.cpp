#include "sim/coverage_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace steelyard::sim {
namespace {

constexpr NodeId self{Role::shard, 2}, checkpointer{Role::checkpointer, 1}, worker{Role::worker, 3};

// A shard with one slice of one float, and a probe that looks at it.
class WitnessOfAShard : public testing::Test {
 protected:
  WitnessOfAShard() : shard_(Shard::Options{self, {}, {}}) {
    Job job;
    append(job.layout, "positions", {1});
    job.layout.slice_size = 1;
    job.train_samples = 10'000;
    job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
    job.schedule.base = 1;
    const float zero = 0;
    tell(scheduler_node, Welcome{1, 0, job});
    tell(checkpointer, Load{1, 0, 0, 0, 0, Blob::copy_of(std::span(&zero, 1))});
    EXPECT_TRUE(shard_.loaded());
    tell(scheduler_node, Open{1, 0, 0, positions_, positions_.size(), false, false});
    probe_.open({.positions = positions_});
  }

  template <class Said>
  void tell(NodeId from, Said said) {
    Outbox out(self);
    shard_.step(Time{milliseconds(1)}, {from, self, Message(std::in_place_type<ToShard>, std::move(said))},
                out);
  }
  void push(Interval positions, double gradient) {
    const auto value = static_cast<float>(gradient);
    tell(worker, Push{1,
                      {.id = 1, .positions = positions},
                      static_cast<double>(positions.size()),
                      0,
                      Blob::copy_of(std::span(&value, 1))});
  }

  const Interval positions_{512, 1024};
  Shard shard_;
  CoverageProbe probe_;
};

TEST_F(WitnessOfAShard, IsContentWithPiecesThatMakeTheRoundWhole) {
  push({700, 1024}, probe_.gradient({700, 1024}));
  EXPECT_EQ(probe_.look(self, shard_), "") << "nothing is closed yet";
  push({512, 700}, probe_.gradient({512, 700}));
  ASSERT_EQ(shard_.version(), 1U);
  EXPECT_EQ(probe_.look(self, shard_), "");
  EXPECT_EQ(probe_.look(self, shard_), "") << "looking twice changes nothing";
}

TEST_F(WitnessOfAShard, SeesAPieceOfOtherPositions) {
  push({700, 1024}, probe_.gradient({700, 1024}));
  push({512, 700}, probe_.gradient({513, 701}));
  ASSERT_EQ(shard_.version(), 1U);
  ASSERT_NE(probe_.gradient({512, 700}), probe_.gradient({513, 701})) << "or the test shows nothing";
  EXPECT_THAT(probe_.look(self, shard_), testing::HasSubstr("exactly once"));
}

TEST(CoverageProbe, GradientsAddUpAndAreWholeNumbers) {
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
}  // namespace steelyard::sim
