// All workers of a job are lost and the job is interrupted, at every possible moment: the saved version is
// one of the plain loop, and saving fails only if no complete version is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_world.h"

namespace steelyard::left_alone_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// How one job ended, counted over the moments at which its workers were lost.
struct Ends {
  int saved = 0, unfinished = 0, replaced = 0;
};

void check_end(test::World& world, Ends& ends) {
  EXPECT_THAT(world.violations(), IsEmpty());
  for (const Snapshot& stored : world.stored()) {
    EXPECT_EQ(stored.parameters, world.expected(stored.progress.version));
  }
  const Stop& stop = world.scheduler().outcome();
  const Version version = world.scheduler().cursor().round();
  if (stop.outcome != Outcome::storage) {
    ++ends.saved;
    EXPECT_EQ(world.stored().back().progress.version, version);
    return;
  }
  EXPECT_NE(world.parameters(), world.expected(version)) << "this version was complete";
  EXPECT_NE(world.parameters(), world.expected(version + 1)) << "the round had closed";
  const bool replaced = stop.text.find("superseded") != std::string::npos;
  if (!replaced) {
    EXPECT_THAT(stop.text, HasSubstr("no worker is left to finish the round"));
  }
  ++(replaced ? ends.replaced : ends.unfinished);
}

Ends end_at_every_moment(const Job& job) {
  Ends ends;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    bool lost = true;
    for (std::uint64_t at = 20; std::exchange(lost, false); ++at) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", at message " + std::to_string(at));
      test::World::Options options;
      options.seed = seed;
      test::World world(job, options);
      world.populate(2, 2);
      world.on_delivery = [&](const Envelope&) {
        const bool running = world.scheduler().phase() == Scheduler::Phase::running;
        if (!running || world.delivered() < at || std::exchange(lost, true)) return true;
        for (const NodeId worker : world.workers()) world.kill(worker);
        world.interrupt();
        return false;
      };
      EXPECT_TRUE(world.run()) << world.describe();
      check_end(world, ends);
    }
  }
  return ends;
}

TEST(LeftAlone, ClosedSlicesOfPlainSgdStillGiveThePreviousVersion) {
  Job job = test::toy_job(60, 30, 2, 2, 2);
  job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
  const Ends ends = end_at_every_moment(job);
  EXPECT_GT(ends.saved, 500);
  EXPECT_EQ(ends.replaced, 0);
}

// Closing a slice overwrites its momentum: if only some slices have closed, no version is complete.
TEST(LeftAlone, AClosedRoundIsSavedWithAnyOptimizer) {
  const Ends ends = end_at_every_moment(test::toy_job(60, 30, 2, 2, 2));
  EXPECT_GT(ends.saved, 500);
  EXPECT_GT(ends.replaced, 0) << "no moment between closes was tried";
}

TEST(LeftAlone, WithAClipBarrierShardsCloseTogether) {
  Job job = test::toy_job(60, 30, 2, 2, 2);
  job.clip_norm = 1e9;
  const Ends ends = end_at_every_moment(job);
  EXPECT_GT(ends.saved, 500);
  EXPECT_EQ(ends.replaced, 0);
}

}  // namespace
}  // namespace steelyard::left_alone_test
