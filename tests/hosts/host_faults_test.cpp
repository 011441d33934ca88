// Whole jobs under each kind of fault, in every sync mode: they finish, with the parameters of an undisturbed
// job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/hosts/whole_jobs.h"
#include "tests/support/sync_modes.h"

namespace steelyard::test::faults_test {
namespace {

using sim::Fault;
using sim::says;
using Effect = Fault::Effect;

constexpr std::uint64_t seeds = 25;

Time after(double s) { return Time{std::chrono::seconds(1)} + from_seconds(s); }

class Faults : public ::testing::TestWithParam<const char*> {
 protected:
  // Runs jobs with `faults`, one per seed. `newcomers`: killed workers are replaced.
  void run(const std::function<std::vector<Fault>(Random&)>& faults, bool newcomers = false) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      Random random(seed * 31);
      Job job = job_for(GetParam());
      job.grain = std::vector{1U, 4U, 8U}[seed % 3];
      job.heartbeat_timeout = 5;
      World::Options options;
      options.seed = seed;
      options.faults = faults(random);
      World world(job, options);
      world.populate(3, 2);
      if (newcomers)
        world.on_kill = [&](NodeId) { world.add_worker("late-" + std::to_string(world.workers().size())); };
      world.run();
      expect_whole(world, job, "seed " + std::to_string(seed));
      if (HasFatalFailure()) return;
    }
  }
};

const std::vector<std::pair<Role, Role>> links{
    {Role::worker, Role::scheduler},   {Role::scheduler, Role::worker},  {Role::worker, Role::shard},
    {Role::shard, Role::worker},       {Role::shard, Role::scheduler},   {Role::scheduler, Role::shard},
    {Role::shard, Role::checkpointer}, {Role::checkpointer, Role::shard}};

TEST_P(Faults, Delays) {
  run([](Random&) {
    return std::vector<Fault>{{.effect = Effect::delay, .chance = 0.1, .most = milliseconds(300)}};
  });
}

TEST_P(Faults, BrokenConnections) {
  run([](Random&) { return std::vector<Fault>{{.effect = Effect::cut, .chance = 0.02}}; });
}

TEST_P(Faults, RepeatedMessages) {
  run([](Random&) { return std::vector<Fault>{{.effect = Effect::repeat, .chance = 0.05}}; });
}

TEST_P(Faults, OneWayPartitionsThatDelay) {
  run([](Random& random) {
    std::vector<Fault> faults;
    for (int i = 0; i < 4; ++i) {
      const auto [from, to] = links[random.below(links.size())];
      const double begin = random.uniform() * 0.5;
      faults.push_back({.effect = Effect::hold,
                        .from = from,
                        .to = to,
                        .begin = after(begin),
                        .end = after(begin + 2 * random.uniform())});
    }
    return faults;
  });
}

// Losses without a disconnection, which links do not cause. All messages from and to the scheduler are
// resent.
TEST_P(Faults, OneWayPartitionsOfTheSchedulerThatLose) {
  run([](Random& random) {
    std::vector<Fault> faults;
    for (int i = 0; i < 2; ++i) {
      const double begin = random.uniform() * 0.5;
      const Role other = random.below(2) == 0 ? Role::worker : Role::shard;
      const bool to_scheduler = random.below(2) == 0;
      faults.push_back({.effect = Effect::lose,
                        .from = to_scheduler ? other : Role::scheduler,
                        .to = to_scheduler ? Role::scheduler : other,
                        .begin = after(begin),
                        .end = after(begin + 2 * random.uniform())});
    }
    return faults;
  });
}

TEST_P(Faults, SingleLostMessages) {
  run([](Random& random) {
    return std::vector<Fault>{{.effect = Effect::lose, .first = random.below(400), .count = 1},
                              {.effect = Effect::lose,
                               .to = random.below(2) == 0 ? Role::worker : Role::shard,
                               .first = random.below(200),
                               .count = 1}};
  });
}

// As a full socket drops messages.
TEST_P(Faults, LostPushesPullsAndParameters) {
  run([](Random&) {
    return std::vector<Fault>{
        {.effect = Effect::lose, .kind = says<ToShard, Push, Pull, PullAck>, .chance = 0.02},
        {.effect = Effect::lose, .kind = says<ToWorker, Parameters>, .chance = 0.02}};
  });
}

TEST_P(Faults, PausedNodes) {
  run([](Random& random) {
    std::vector<Fault> faults;
    for (int i = 0; i < 4; ++i) {
      faults.push_back({.effect = Effect::pause,
                        .to = std::vector{Role::worker, Role::shard, Role::scheduler, Role::checkpointer}[i],
                        .first = random.below(100),
                        .count = 3,
                        .least = milliseconds(10),
                        .most = milliseconds(1000)});
    }
    return faults;
  });
}

TEST_P(Faults, KilledWorkers) {
  run(
      [](Random& random) {
        return std::vector<Fault>{
            {.effect = Effect::kill, .to = Role::worker, .first = random.below(60), .count = 1},
            {.effect = Effect::kill, .to = Role::worker, .first = random.below(200), .count = 1}};
      },
      true);
}

INSTANTIATE_TEST_SUITE_P(All, Faults, ::testing::ValuesIn(sync_modes()), plain);

}  // namespace
}  // namespace steelyard::test::faults_test
