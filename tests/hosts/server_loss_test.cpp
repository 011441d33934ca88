// Servers with mirrors, each killed at every message: every position counts once, and the result equals the
// plain loop bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hosts/whole_jobs.h"
#include "tests/support/sync_modes.h"

namespace steelyard::test::server_loss_test {
namespace {

Job mirrored_job(const std::string& sync, std::uint64_t epochs = 1) {
  Job job = job_for(sync, 60, 24, epochs);
  job.replicas = 1;
  return job;
}

std::uint64_t messages_of(const Job& job) {
  World quiet(job, {});
  quiet.populate(3, 2);
  quiet.run();
  expect_whole(quiet, job, "undisturbed");
  return quiet.delivered();
}

bool begun(const World& world) { return world.scheduler().phase() == Scheduler::Phase::running; }
// Whether both shards have a filled mirror, and all four are alive.
bool has_mirrors(const World& world) {
  const Members& members = world.scheduler().members();
  const auto lives = [&](const auto& it) { return world.alive(it.second.node); };
  const auto filled = [](const auto& it) { return it.second.filled; };
  return members.mirrors.size() == 2 && std::ranges::all_of(members.mirrors, filled) &&
         std::ranges::all_of(members.mirrors, lives) && std::ranges::all_of(members.shards, lives);
}

// Kills each of the first `victims` of two shards and two mirrors, at every message. `newcomers`: each is
// replaced, as by a supervisor.
void expect_whole_after_losses(const Job& job, std::size_t victims, bool newcomers) {
  const std::uint64_t messages = messages_of(job);
  for (std::size_t victim = 0; victim < victims; ++victim) {
    for (std::uint64_t at = 0; at < messages; ++at) {
      World world(job, {});
      world.populate(3, 2);
      bool killed = false;
      world.on_delivery = [&](const Envelope& envelope) {
        if (world.delivered() >= at && !killed && begun(world) && has_mirrors(world)) {
          killed = true;
          world.kill(world.shards()[victim]);
          if (newcomers) world.add_shard("newcomer", victim >= 2);
        }
        return world.alive(envelope.to);
      };
      world.run();
      expect_whole(world, job, std::to_string(victim) + " killed at message " + std::to_string(at));
      if (testing::Test::HasFailure()) return;
    }
  }
}

class ServerLoss : public ::testing::TestWithParam<const char*> {};

TEST_P(ServerLoss, OfAnyServerAtAnyMessageIsSurvived) {
  expect_whole_after_losses(mirrored_job(GetParam()), 4, true);
}

// The server is alive, but disconnected from the scheduler or its mirror.
TEST_P(ServerLoss, OfADisconnectedServerIsSurvived) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed * 7);
    const Job job = mirrored_job(GetParam(), 2);
    World::Options options;
    options.seed = seed;
    World world(job, options);
    world.populate(3, 2);
    int breaks = 0;
    world.on_delivery = [&](const Envelope& envelope) {
      if (begun(world) && breaks < 3 && random.uniform() < 0.01) {
        ++breaks;
        const auto& members = world.scheduler().members();
        const NodeId one = members.shards.at(static_cast<std::uint32_t>(random.below(2))).node;
        const auto mirror = members.mirrors.find(static_cast<std::uint32_t>(random.below(2)));
        const bool between = random.below(2) == 0 && mirror != members.mirrors.end();
        if (between) {
          world.break_connection(members.shards.at(mirror->first).node, mirror->second.node);
        } else if (has_mirrors(world)) {
          world.break_connection(one, scheduler_node);
          world.add_shard("server-" + std::to_string(10 + breaks));
        }
      }
      return world.alive(envelope.to);
    };
    world.run();
    expect_whole(world, job, "seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ServerLoss, ::testing::ValuesIn(sync_modes()), plain);

TEST(ServerLoss, IsSurvivedWithAClipBarrier) {
  Job job = mirrored_job("bsp");
  job.clip_norm = 1e9;  // a clip barrier that changes nothing
  expect_whole_after_losses(job, 1, false);
}

TEST(ServerLoss, OfAShardAndItsMirrorEndsTheJob) {
  World world(mirrored_job("bsp", 4), {});
  world.populate(3, 2);
  bool killed = false;
  world.on_delivery = [&](const Envelope& envelope) {
    if (!killed && begun(world) && has_mirrors(world)) {
      killed = true;
      const auto& members = world.scheduler().members();
      const NodeId shard = members.shards.at(0).node, mirror = members.mirrors.at(0).node;
      world.kill(mirror);
      world.kill(shard);
    }
    return world.alive(envelope.to);
  };
  world.run();
  ASSERT_TRUE(world.scheduler().finished());
  EXPECT_EQ(world.scheduler().outcome().outcome, Outcome::server_lost);
}

TEST(ServerLoss, TrainingBeginsOnceAllShardsHaveMirrors) {
  World world(mirrored_job("bsp"), {});
  world.populate(3, 0);
  world.add_shard("server-0/0");
  world.add_shard("server-0/1", true);  // in the same process, so it can only mirror the other server's shard
  world.add_shard("server-1/0");
  for (int i = 0; i < 2000; ++i) world.step();
  EXPECT_EQ(world.scheduler().phase(), Scheduler::Phase::gathering);
  world.add_shard("server-1/1", true);
  EXPECT_TRUE(world.run());
  for (const auto& [slot, mirror] : world.scheduler().members().mirrors) {
    const std::string& primary = world.scheduler().members().shards.at(slot).name;
    EXPECT_NE(primary.substr(0, 8), mirror.name.substr(0, 8));
  }
}

}  // namespace
}  // namespace steelyard::test::server_loss_test
