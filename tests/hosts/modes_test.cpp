// Every sync mode under virtual time and misfortune: every position exactly once, the bound kept, own writes
// seen, nothing hangs, whatever dies, breaks, comes twice or is late. What is looked at on the way is in
// tests/support/world.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "balancing/policies.h"
#include "tests/support/world.h"

namespace steelyard::test {
namespace {

using ::testing::IsEmpty;

Job job_for(const std::string& sync, std::uint64_t samples = 120, std::uint64_t batch = 24,
            std::uint64_t epochs = 2) {
  if (parse_sync(sync).on_arrival) return footprint_job(sync, samples, batch, epochs, 3, 2);
  Job job = toy_job(samples, batch, epochs, 3, 2);
  job.sync = parse_sync(sync);
  return job;
}

void expect_whole(World& world, const Job& job, const std::string& what) {
  const SyncMode mode = job.sync;
  std::vector<std::string> violations = world.violations();
  // Where every piece weighs the same, what comes out follows from how the work was divided.
  if (mode.equal_weights) {
    std::erase_if(violations, [](const std::string& it) {
      return it.ends_with("is not what the plain loop gives") ||
             it.find("computed from parameters that are not version") != std::string::npos;
    });
  }
  ASSERT_THAT(violations, IsEmpty()) << what;
  ASSERT_TRUE(world.scheduler().finished()) << what << ": the job hangs, " << world.describe();
  EXPECT_EQ(world.scheduler().outcome().outcome, Outcome::finished)
      << what << ": " << world.scheduler().outcome().text;
  EXPECT_EQ(world.scheduler().cursor().epoch(), job.epochs) << what;
  if (mode.equal_weights) return;
  if (!mode.on_arrival) {
    EXPECT_EQ(world.parameters(), world.expected(world.scheduler().cursor().round())) << what;
    return;
  }
  const Version all = world.scheduler().cursor().round();
  const std::vector<float> parameters = world.parameters();
  for (const Slice& slice : slices(job.layout)) {
    const std::string trouble =
        Footprints(job).look({parameters.data() + slice.begin, slice.size()}, all, all);
    EXPECT_THAT(trouble, IsEmpty()) << what;
  }
}

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

TEST_P(Modes, AWorkerKilledAtAnyMessage) {
  const Job job = job_for(GetParam(), 60, 24, 1);
  World quiet(job, {});
  quiet.populate(3, 2);
  quiet.run();
  for (std::uint64_t at = 0; at < quiet.delivered(); ++at) {
    World world(job, {});
    world.populate(3, 2);
    const NodeId victim = world.workers()[at % 3];
    bool killed = false;
    world.on_delivery = [&](const Envelope&) {
      if (world.delivered() == at && !std::exchange(killed, true)) {
        world.kill(victim);
        world.add_worker("late");
      }
      return true;
    };
    world.run();
    expect_whole(world, job, "killed at message " + std::to_string(at));
  }
}

// Connections break, nodes die and come, messages come twice.
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
    const auto* heard = std::get_if<ToScheduler>(&envelope.message);
    const bool lost = heard != nullptr && std::holds_alternative<Disconnected>(*heard);
    if (travels && !lost && !again && random.uniform() < 0.01) {
      again = true;
      world.say_again(envelope);
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

// A push that was dropped because others had pushed a part of the piece, while the rest of it was given to
// its own worker once more, which waited for what it had pushed.
TEST(Slack, NobodyWaitsForWhatIsHisToDoAgain) {
  misfortune("ssp:1", 67, "dlb");
  misfortune("ssp:3", 57, "equal");
}

// More slices than a server has on their way to one worker: they come in windows, which break and are asked
// for again like everything else.
TEST_P(Modes, ManySlices) {
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

// False suspicion: nothing that a worker says to the scheduler arrives, and yet it works on.
TEST_P(Modes, ASilentWorkerIsReplaced) {
  Job job = job_for(GetParam(), 96, 24, 1);
  job.dead_after = 2;
  World world(job, {});
  world.populate(3, 2);
  world.hush(world.workers()[1]);
  world.run();
  expect_whole(world, job, "silent");
}

TEST_P(Modes, InterruptedAndResumed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Job job = job_for(GetParam(), 100, 16, 4);
    // A checkpoint keeps no momentum of a plain loop that begins anew.
    job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
    World::Options options;
    options.seed = seed;
    World first(job, options);
    first.populate(3, 2);
    std::uint64_t delivered = 0;
    first.on_delivery = [&](const Envelope&) {
      if (++delivered == 150 + 20 * seed) first.interrupt(scheduler_node);
      return true;
    };
    ASSERT_TRUE(first.run()) << first.describe();
    ASSERT_THAT(first.violations(), IsEmpty());
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

std::string plain(const ::testing::TestParamInfo<const char*>& at) {
  std::string name = at.param;
  std::ranges::replace(name, ':', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Modes,
                         ::testing::Values("bsp", "ssp:1", "ssp:3", "asp", "local:1", "local:3",
                                           "oneshot:epoch", "oneshot:end"),
                         plain);
INSTANTIATE_TEST_SUITE_P(All, Misfortune,
                         ::testing::Values("bsp", "ssp:0", "ssp:1", "ssp:3", "asp", "local:1", "local:3",
                                           "oneshot:epoch", "oneshot:end", "local:1:equal", "local:3:equal",
                                           "oneshot:epoch:equal", "oneshot:end:equal"),
                         plain);

// A worker that is many times slower than the others holds them back by the slack, and not at all under asp.
std::uint64_t furthest_ahead(const std::string& sync) {
  const Job job = job_for(sync, 240, 12, 1);
  World::Options options;
  options.seed = 3;
  World world(job, options);
  world.populate(3, 2);
  std::uint64_t furthest = 0;
  const NodeId slow = world.workers()[0];
  std::map<PieceId, int> put_off;
  world.on_delivery = [&](const Envelope& envelope) {
    const Scheduler& scheduler = world.scheduler();
    const Round reached = scheduler.cursor().round();
    for (const RoundState& round : scheduler.rounds()) {
      if (round.purpose() == Purpose::train && round.round() > reached)
        furthest = std::max(furthest, round.round() - reached);
    }
    const auto* message = std::get_if<ToWorker>(&envelope.message);
    const auto* done = message != nullptr ? std::get_if<Computed>(message) : nullptr;
    // Its answers come late: each is put off many times.
    if (envelope.to != slow || done == nullptr || ++put_off[done->report.piece.id] > 200) return true;
    world.say_again(envelope);
    return false;
  };
  world.run();
  expect_whole(world, job, sync);
  return furthest;
}

TEST(Slack, TheQuickAreAheadByTheSlackAndNoMore) {
  EXPECT_EQ(furthest_ahead("bsp"), 0U);
  EXPECT_EQ(furthest_ahead("ssp:1"), 1U);
  EXPECT_EQ(furthest_ahead("ssp:4"), 4U);
  EXPECT_GT(furthest_ahead("asp"), 6U);
}

}  // namespace
}  // namespace steelyard::test
