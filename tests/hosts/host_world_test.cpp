// The state machines in virtual time, with lost nodes, broken connections and late messages: every position
// counts once, and the result equals the plain loop bit for bit.
#include "tests/support/test_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "balancing/policies.h"

namespace steelyard::test::world_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

void expect_plain_result(World& world, const std::string& what) {
  EXPECT_THAT(world.violations(), IsEmpty()) << what;
  ASSERT_TRUE(world.scheduler().finished()) << what << ": the job hangs, " << world.describe();
  EXPECT_EQ(world.parameters(), world.expected(world.scheduler().cursor().round())) << what;
  EXPECT_EQ(world.scheduler().outcome().outcome, Outcome::finished)
      << what << world.scheduler().outcome().text;
}

TEST(World, TrainsToThePlainResult) {
  World world(toy_job(100, 32, 3, 3, 2), {});
  world.populate(3, 2);
  world.run();
  expect_plain_result(world, "undisturbed");
  EXPECT_EQ(world.scheduler().cursor().round(), 12U);  // 4 rounds per epoch, the last with 4 positions
  EXPECT_EQ(world.stored().size(), 3U) << "one checkpoint per epoch";
}

// A shard may report a closed round before the last worker's report arrives; that report still counts.
TEST(World, EveryRecordHasEveryPosition) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World::Options options;
    options.seed = seed;
    World world(toy_job(120, 24, 2, 3, 2), options);
    world.populate(3, 2);
    world.run();
    expect_plain_result(world, "seed " + std::to_string(seed));
    std::uint64_t rounds = 0;
    for (const ToRecorder& message : world.recorded()) {
      const auto* record = std::get_if<RoundRecord>(&message);
      if (record == nullptr || record->purpose != Purpose::train) continue;
      std::uint64_t sum = 0;
      for (const RoundRecord::Part& part : record->parts) sum += part.share;
      EXPECT_EQ(sum, record->positions.size()) << "seed " << seed << ", round " << record->round;
      ++rounds;
    }
    EXPECT_EQ(rounds, 10U);
  }
}

TEST(World, RandomDivisionsAndSizesGiveThePlainResult) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const int workers = 1 + static_cast<int>(random.below(6)), shards = 1 + static_cast<int>(random.below(4));
    const Job job =
        toy_job(20 + random.below(200), 1 + random.below(64), 2, static_cast<std::uint32_t>(workers),
                static_cast<std::uint32_t>(shards), 4 + random.below(40), 1 + random.below(9));
    World::Options options;
    options.seed = seed;
    options.policy = random.below(2) == 0 ? "equal" : "lb-bsp";
    World world(job, options);
    world.populate(workers, shards);
    world.run();
    expect_plain_result(world, "seed " + std::to_string(seed));
  }
}

// Pieces end at grain borders, which is checked after every step, for every policy and after losses.
TEST(World, RandomGrainsAndLossesGiveThePlainResult) {
  const std::vector<std::string> policies = balancing::policy_names();
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const int workers = 1 + static_cast<int>(random.below(6)), shards = 1 + static_cast<int>(random.below(3));
    const std::uint64_t grain = 2 + random.below(9), batch = grain * (1 + random.below(8));
    Job job = toy_job(batch + random.below(150), batch, 2, static_cast<std::uint32_t>(workers),
                      static_cast<std::uint32_t>(shards));
    job.grain = static_cast<std::uint32_t>(grain);
    job.sync = parse_sync(seed % 3 == 0 ? "local:3" : "bsp");
    job.heartbeat_timeout = 5;
    World::Options options;
    options.seed = seed;
    options.policy = policies[random.below(policies.size())];
    if (workers > 1)
      options.faults = {
          {.effect = sim::Fault::Effect::kill, .to = Role::worker, .first = random.below(200), .count = 1}};
    World world(job, options);
    world.on_kill = [&](NodeId) { world.add_worker("late"); };
    world.populate(workers, shards);
    world.run();
    expect_plain_result(
        world, "seed " + std::to_string(seed) + ", grain " + std::to_string(grain) + ", " + options.policy);
  }
}

TEST(World, AWorkerMayBeKilledAtAnyMessage) {
  const Job job = toy_job(60, 32, 1, 3, 2);
  World quiet(job, {});
  quiet.populate(3, 2);
  quiet.run();
  for (std::uint64_t at = 0; at < quiet.delivered(); ++at) {
    World::Options options;
    options.faults = {kill_at(at, worker_number(at % 3))};
    World world(job, options);
    world.populate(3, 2);
    world.on_kill = [&](NodeId) { world.add_worker("late"); };  // the job waits for three
    world.run();
    EXPECT_EQ(world.workers().size(), 4U) << "no worker was killed at message " << at;
    expect_plain_result(world, "killed at message " + std::to_string(at));
  }
}

TEST(World, ANewWorkerFinishesTheRoundAfterAllAreLost) {
  World world(toy_job(200, 32, 2, 2, 2), {});
  world.populate(2, 2);
  int started = 0;
  world.on_delivery = [&](const Envelope& envelope) {
    const auto* message = std::get_if<ToWorker>(&envelope.message);
    if (message != nullptr && std::holds_alternative<Start>(*message) && ++started == 7) {
      for (const NodeId worker : std::vector(world.workers())) world.kill(worker);
      world.add_worker("newcomer");
      return false;
    }
    return true;
  };
  world.run();
  expect_plain_result(world, "all replaced");
}

TEST(World, BrokenConnectionsLoseNothing) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    World::Options options;
    options.seed = seed;
    World world(toy_job(120, 32, 2, 3, 2), options);
    world.populate(3, 2);
    Random random(seed * 77);
    world.on_delivery = [&](const Envelope&) {
      if (random.uniform() < 0.01) {
        const NodeId worker = world.workers()[random.below(3)];
        const NodeId other = random.below(3) == 0 ? scheduler_node : world.shards()[random.below(2)];
        world.break_connection(worker, other);
      } else if (random.uniform() < 0.003) {
        world.break_connection(world.shards()[random.below(2)], scheduler_node);
      }
      return true;
    };
    world.run();
    expect_plain_result(world, "seed " + std::to_string(seed));
  }
}

TEST(World, KillsJoinsAndBrokenConnectionsLoseNothing) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    World::Options options;
    options.seed = seed;
    options.policy = seed % 2 == 0 ? "equal" : "lb-bsp";
    Job job = toy_job(150, 32, 2, 3, 2);
    job.clip_norm = seed % 3 == 0 ? 1e9 : 0;  // a clip barrier that changes nothing
    World world(job, options);
    world.populate(3, 2);
    Random random(seed * 101);
    int newcomers = 0;
    world.on_delivery = [&](const Envelope& envelope) {
      if (newcomers < 6 && random.uniform() < 0.004) {
        const NodeId victim = world.workers()[random.below(world.workers().size())];
        world.add_worker("newcomer-" + std::to_string(newcomers++));
        if (world.alive(victim)) world.kill(victim);
      }
      if (random.uniform() < 0.004) {
        world.break_connection(world.workers()[random.below(world.workers().size())],
                               world.shards()[random.below(2)]);
      }
      return world.alive(envelope.to);
    };
    world.run();
    expect_plain_result(world, "seed " + std::to_string(seed));
  }
}

TEST(World, ALatePushOfAReplacedWorkerIsHarmless) {
  Job job = toy_job(96, 32, 1, 3, 2);
  job.heartbeat_timeout = 2;
  World world(job, {});
  world.populate(3, 2);
  world.silence(world.workers()[1]);
  world.run();
  expect_plain_result(world, "silent");
}

// Two other workers have each pushed half of a piece, each to another slice, when its first owner returns
// with the whole piece: its push fits neither slice any more.
TEST(World, SlicesMissingDifferentHalvesAreCompleted) {
  World world(toy_job(33, 33, 1, 3, 1, 8, 4), {});
  world.populate(3, 1);
  const std::vector<NodeId> workers = world.workers();
  std::optional<Interval> whole;
  std::set<NodeId> halves;  // workers that have pushed their half
  bool back = false;
  const auto on_report = [&](NodeId from, const Report& it) {
    if (it.piece.purpose != Purpose::train) return true;
    if (from != workers[0]) return !whole || !whole->contains(it.piece.positions);
    if (!std::exchange(whole, it.piece.positions)) world.break_connection(from, scheduler_node);
    back = halves.size() == 2;
    return back;
  };
  const auto on_push = [&](NodeId from, const Push& it) {
    if (from == workers[0]) return back;
    if (!whole || !whole->contains(it.piece.positions)) return true;
    if (it.slice != (from == workers[1] ? 0U : 1U)) return false;
    if (halves.insert(from).second && halves.size() == 2) world.break_connection(workers[0], scheduler_node);
    return true;
  };
  world.on_delivery = [&](const Envelope& envelope) {
    if (back && world.alive(workers[1])) {
      world.kill(workers[1]);  // otherwise the thirds of the piece might fit where the halves do not
      world.kill(workers[2]);
    }
    const auto* to_scheduler = std::get_if<ToScheduler>(&envelope.message);
    const auto* report = to_scheduler != nullptr ? std::get_if<Report>(to_scheduler) : nullptr;
    if (report != nullptr) return on_report(envelope.from, *report);
    const auto* to_shard = std::get_if<ToShard>(&envelope.message);
    const auto* push = to_shard != nullptr ? std::get_if<Push>(to_shard) : nullptr;
    return push == nullptr || on_push(envelope.from, *push);
  };
  world.run();
  EXPECT_TRUE(back);
  expect_plain_result(world, "halves");
}

TEST(World, NonFiniteGradientsAreRecomputedThenEndTheJob) {
  for (const bool always : {false, true}) {
    World world(toy_job(96, 32, 1, 3, 2), {});
    world.populate(3, 2);
    int spoiled = 0;
    world.on_gradient = [&](GradientReady& final) {
      if (final.round == 1 && final.slice == 2 && (always || spoiled == 0)) {
        ++spoiled;
        std::vector<float> values(final.values.floats().begin(), final.values.floats().end());
        values[0] = std::numeric_limits<float>::quiet_NaN();
        final.values = Blob::copy_of(values);
      }
    };
    ASSERT_TRUE(world.run());
    EXPECT_GT(spoiled, 0);
    if (always) {
      EXPECT_EQ(world.scheduler().outcome().outcome, Outcome::non_finite);
      EXPECT_THAT(world.scheduler().outcome().text, HasSubstr("round 1"));
      EXPECT_THAT(world.scheduler().outcome().text, HasSubstr("worker-"));
    } else {
      expect_plain_result(world, "spoiled once");
    }
  }
}

TEST(World, ClippingScalesTheWholeGradient) {
  Job job = toy_job(64, 32, 1, 2, 2, 8, 3);
  job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
  job.clip_norm = 0.5;
  job.rounds = 1;
  World world(job, {});
  world.populate(2, 2);
  while (!world.scheduler().finished() && world.step()) {
  }
  double squares = 0;
  for (const float w : world.parameters()) squares += static_cast<double>(w) * w;
  EXPECT_NEAR(std::sqrt(squares), 0.5 * job.schedule.base, 1e-6) << "one step of the clipped norm";
}

TEST(World, AResumedRunEqualsAnUninterruptedOne) {
  Job job = toy_job(100, 32, 4, 2, 2);
  job.optimizer.kind = nn::Optimizer::Kind::sgd;
  World whole(job, {});
  whole.populate(2, 2);
  whole.run();

  World first(job, {});
  first.populate(2, 2);
  int rounds = 0;
  first.on_delivery = [&](const Envelope& envelope) {
    const auto* message = std::get_if<ToShard>(&envelope.message);
    if (message != nullptr && std::holds_alternative<BeginRound>(*message) && ++rounds == 14)
      first.interrupt();
    return true;
  };
  ASSERT_TRUE(first.run());
  EXPECT_EQ(first.scheduler().outcome().outcome, Outcome::interrupted);
  const Snapshot& saved = first.stored().back();
  ASSERT_GT(saved.progress.version, 0U);
  ASSERT_LT(saved.progress.version, whole.scheduler().cursor().round());

  World::Options options;
  options.from = saved.progress;
  options.from.term = saved.progress.term + 1;
  options.initial = saved.parameters;
  World second(job, options);
  second.populate(3, 2);
  ASSERT_TRUE(second.run());
  EXPECT_EQ(second.parameters(), whole.parameters());
}

TEST(World, ALostServerEndsTheJobWithAMessage) {
  Job job = toy_job(100, 32, 50, 2, 2);
  job.heartbeat_timeout = 2;
  World world(job, {});
  world.populate(2, 2);
  int rounds = 0;
  world.on_delivery = [&](const Envelope& envelope) {
    const auto* message = std::get_if<ToWorker>(&envelope.message);
    if (message != nullptr && std::holds_alternative<Start>(*message) && ++rounds == 9)
      world.kill(world.shards()[1]);
    return true;
  };
  ASSERT_TRUE(world.run());
  EXPECT_EQ(world.scheduler().outcome().outcome, Outcome::server_lost);
  EXPECT_THAT(world.scheduler().outcome().text, HasSubstr("server-1"));
}

bool between(const Envelope& it, Role a, NodeId b) {
  return (it.from.role == a && it.to == b) || (it.to.role == a && it.from == b);
}

std::vector<std::string> notes(const World& world) {
  std::vector<std::string> all;
  for (const ToRecorder& message : world.recorded()) {
    if (const auto* it = std::get_if<Note>(&message)) all.push_back(it->text);
  }
  return all;
}

// A firewall between the checkpointer and one server, which both reach the scheduler.
TEST(World, AServerThatCannotBeLoadedEndsTheJob) {
  World world(toy_job(96, 32, 1, 2, 2), {});
  world.populate(2, 2);
  world.on_delivery = [&](const Envelope& it) { return !between(it, Role::checkpointer, world.shards()[1]); };
  ASSERT_TRUE(world.run()) << world.describe();
  EXPECT_EQ(world.scheduler().outcome().outcome, Outcome::server_lost);
  EXPECT_THAT(world.scheduler().outcome().text, HasSubstr("server 'server-1' at local has received nothing"));
  const auto all = notes(world);
  EXPECT_THAT(all, ::testing::Contains(HasSubstr("does not answer the scheduler's machine")));
  EXPECT_THAT(all, ::testing::Contains(HasSubstr("sending the initial state to 2 servers: 40 %")));
  EXPECT_LE(all.size(), 30U) << "notes must not be repeated all the time";
}

TEST(World, AnUnreachableServerFailsTheCheckpointOnly) {
  World world(toy_job(96, 32, 2, 2, 2), {});
  world.populate(2, 2);
  world.on_delivery = [&](const Envelope& it) {
    return world.scheduler().cursor().round() == 0 || !between(it, Role::checkpointer, world.shards()[1]);
  };
  ASSERT_TRUE(world.run()) << world.describe();
  EXPECT_EQ(world.scheduler().outcome().outcome, Outcome::storage);
  EXPECT_THAT(world.scheduler().outcome().text, HasSubstr("server 'server-1' at local has not answered"));
  EXPECT_EQ(world.scheduler().cursor().round(), 6U) << "the training itself must finish";
  EXPECT_THAT(world.stored(), IsEmpty());
}

}  // namespace
}  // namespace steelyard::test::world_test
