// Every sync mode in virtual time, with lost nodes, broken connections, repeated and late messages: every
// position counts once, staleness stays bounded, workers see their own writes, and no job hangs.
// tests/support/test_world.h has the checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "balancing/policies.h"
#include "tests/hosts/whole_jobs.h"
#include "tests/support/sync_modes.h"

namespace steelyard::test::modes_test {
namespace {

using ::testing::IsEmpty;

class Modes : public ::testing::TestWithParam<const char*> {};

TEST_P(Modes, TrainEveryPositionOnce) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const char* policy : {"equal", "lb-bsp"}) {
      const Job job = job_for(GetParam(), 100 + seed, 8 + seed);
      World::Options options;
      options.seed = seed;
      options.policy = policy;
      World world(job, options);
      world.populate(3, 2);
      world.run();
      expect_whole(world, job, "seed " + std::to_string(seed));
      EXPECT_GE(world.stored().size(), 1U);
    }
  }
}

TEST_P(Modes, SurviveAWorkerKilledAtAnyMessage) {
  const Job job = job_for(GetParam(), 60, 24, 1);
  World quiet(job, {});
  quiet.populate(3, 2);
  quiet.run();
  for (std::uint64_t at = 0; at < quiet.delivered(); ++at) {
    World::Options options;
    options.faults = {kill_at(at, worker_number(at % 3))};
    World world(job, options);
    world.populate(3, 2);
    world.on_kill = [&](NodeId) { world.add_worker("late"); };
    world.run();
    EXPECT_EQ(world.workers().size(), 4U) << "no worker was killed at message " << at;
    expect_whole(world, job, "killed at message " + std::to_string(at));
  }
}

// Breaks connections, kills and adds workers, repeats messages.
void misfortune(const std::string& sync, std::uint64_t seed, const std::string& policy) {
  const Job job = job_for(sync, 150, 24, 2);
  World::Options options;
  options.seed = seed;
  options.policy = policy;
  World world(job, options);
  world.populate(3, 2);
  Random random(seed * 101);
  int newcomers = 0;
  bool again = false;
  world.on_delivery = [&](const Envelope& envelope) {
    if (newcomers < 6 && random.uniform() < 0.004) {
      const NodeId victim = world.workers()[random.below(world.workers().size())];
      world.add_worker("newcomer-" + std::to_string(newcomers++));
      if (world.alive(victim)) world.kill(victim);
    }
    if (random.uniform() < 0.006) {
      const NodeId other = random.below(3) == 0 ? scheduler_node : world.shards()[random.below(2)];
      world.break_connection(world.workers()[random.below(world.workers().size())], other);
    }
    if (random.uniform() < 0.002) world.break_connection(world.shards()[random.below(2)], scheduler_node);
    const bool travels = envelope.from.role != Role::compute && envelope.from.role != Role::link &&
                         !std::holds_alternative<ToCheckpointer>(envelope.message) &&
                         envelope.from != envelope.to;
    const auto* content = std::get_if<ToScheduler>(&envelope.message);
    const bool lost = content != nullptr && std::holds_alternative<Disconnected>(*content);
    if (travels && !lost && !again && random.uniform() < 0.01) {
      again = true;
      world.repeat(envelope);
    } else {
      again = false;
    }
    return world.alive(envelope.to);
  };
  world.run();
  expect_whole(world, job, options.policy + ", seed " + std::to_string(seed));
}

class Misfortune : public ::testing::TestWithParam<const char*> {};

TEST_P(Misfortune, LosesNothingUnderAnyPolicy) {
  const std::vector<std::string> policies = balancing::policy_names();
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    misfortune(GetParam(), seed, policies[seed % policies.size()]);
    if (HasFatalFailure()) return;
  }
}

// A push is dropped because other workers have pushed a part of its piece. The rest is reissued to the same
// worker, which must not wait for its dropped push.
TEST(Slack, AWorkerDoesNotWaitForAPieceItMustRecompute) {
  misfortune("ssp:1", 67, "dlb");
  misfortune("ssp:3", 57, "equal");
}

// More slices than a server sends to a worker at once: they are sent in windows, which survive broken
// connections.
TEST_P(Modes, SurviveBrokenConnectionsWithManySlices) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Job job = footprint_job(GetParam(), 72, 24, 1, 3, 2, 100);
    World::Options options;
    options.seed = seed;
    World world(job, options);
    world.populate(3, 2);
    Random random(seed);
    world.on_delivery = [&](const Envelope&) {
      if (random.uniform() < 0.002)
        world.break_connection(world.workers()[random.below(3)], world.shards()[random.below(2)]);
      return true;
    };
    world.run();
    expect_whole(world, job, "seed " + std::to_string(seed));
  }
}

// A false suspicion: messages of a worker to the scheduler are lost, but it continues to compute.
TEST_P(Modes, ReplaceASilentWorker) {
  Job job = job_for(GetParam(), 96, 24, 1);
  job.heartbeat_timeout = 2;
  World world(job, {});
  world.populate(3, 2);
  world.silence(world.workers()[1]);
  world.run();
  expect_whole(world, job, "silent");
}

TEST_P(Modes, ContinueAfterAnInterruption) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Job job = job_for(GetParam(), 100, 16, 4);
    // VersionChecks starts its plain loop without momentum, so a resumed job must not have any.
    job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
    World::Options options;
    options.seed = seed;
    World first(job, options);
    first.populate(3, 2);
    std::uint64_t delivered = 0;
    first.on_delivery = [&](const Envelope&) {
      if (++delivered == 150 + 20 * seed) first.interrupt();
      return true;
    };
    ASSERT_TRUE(first.run()) << first.describe();
    ASSERT_THAT(violations_of(first, job.sync), IsEmpty());
    ASSERT_FALSE(first.stored().empty());
    const Snapshot& saved = first.stored().back();
    if (saved.progress.epoch >= job.epochs) continue;
    options.from = saved.progress;
    options.from.term = saved.progress.term + 1;
    options.initial = saved.parameters;
    World second(job, options);
    second.populate(2, 2);
    second.add_worker("third");
    second.run();
    expect_whole(second, job, "resumed, seed " + std::to_string(seed));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Modes, ::testing::ValuesIn(sync_modes()), plain);
INSTANTIATE_TEST_SUITE_P(All, Misfortune, ::testing::ValuesIn(sync_modes_in_all_forms()), plain);

TEST(SyncModes, EveryFormIsRun) {
  for (const ModeEntry& entry : mode_entries()) {
    const auto is_run = [](const char* text) {
      return std::ranges::count(sync_modes(), std::string_view(text)) > 0;
    };
    EXPECT_GE(std::ranges::count_if(entry.tried, is_run), std::ssize(entry.forms)) << entry.forms.at(0).text;
  }
}

// How many rounds fast workers are ahead of a slow one: at most the slack, and unlimited under asp.
std::uint64_t furthest_ahead(const std::string& sync) {
  const Job job = job_for(sync, 240, 12, 1);
  World::Options options;
  options.seed = 3;
  World world(job, options);
  world.populate(3, 2);
  std::uint64_t furthest = 0;
  const NodeId slow = world.workers()[0];
  world.slowness = [slow](NodeId worker) { return worker == slow ? 20 : 1; };
  world.on_delivery = [&](const Envelope&) {
    const Scheduler& scheduler = world.scheduler();
    const Round reached = scheduler.cursor().round();
    for (const RoundState& round : scheduler.rounds()) {
      if (round.purpose() == Purpose::train && round.round() > reached)
        furthest = std::max(furthest, round.round() - reached);
    }
    return true;
  };
  world.run();
  expect_whole(world, job, sync);
  return furthest;
}

// The number of rounds with skipped positions.
std::uint64_t rounds_with_holes(const std::string& sync) {
  const Job job = job_for(sync, 240, 12, 1);
  World world(job, {});
  world.populate(3, 2);
  std::set<Round> with_skipped;
  const NodeId slow = world.workers()[0];
  world.slowness = [slow](NodeId worker) { return worker == slow ? 20 : 1; };
  world.on_delivery = [&](const Envelope& envelope) {
    const auto* content = std::get_if<ToShard>(&envelope.message);
    const auto* open = content != nullptr ? std::get_if<BeginRound>(content) : nullptr;
    if (open != nullptr && !open->skipped.empty()) with_skipped.insert(open->round);
    return true;
  };
  world.run();
  expect_whole(world, job, sync);
  return with_skipped.size();
}

TEST(Backup, RoundsEndWithoutSlowWorkersAndLoseNothing) {
  EXPECT_EQ(rounds_with_holes("bsp"), 0U);
  EXPECT_GT(rounds_with_holes("backup:1"), 10U);
  EXPECT_GT(rounds_with_holes("backup:2"), 10U);
}

// The last round of an epoch may be longer or shorter, depending on the positions skipped before it.
TEST(Backup, EveryEpochHasItsCheckpoint) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Job job = job_for("backup:1", 160 + seed, 60, 6);
    job.checkpoint_every = 1;
    World::Options options;
    options.seed = seed;
    options.policy = "lb-bsp";
    World world(job, options);
    world.populate(3, 2);
    world.run();
    expect_whole(world, job, "seed " + std::to_string(seed));
    std::set<std::uint64_t> epochs;
    for (const Snapshot& stored : world.stored()) {
      if (stored.progress.offset == 0) epochs.insert(stored.progress.epoch);
    }
    EXPECT_THAT(epochs, ::testing::ElementsAre(1, 2, 3, 4, 5, 6)) << "seed " << seed;
  }
}

TEST(Slack, FastWorkersAreAheadByAtMostTheSlack) {
  EXPECT_EQ(furthest_ahead("bsp"), 0U);
  EXPECT_EQ(furthest_ahead("ssp:1"), 1U);
  EXPECT_EQ(furthest_ahead("ssp:4"), 4U);
  EXPECT_GT(furthest_ahead("asp"), 6U);
}

}  // namespace
}  // namespace steelyard::test::modes_test
