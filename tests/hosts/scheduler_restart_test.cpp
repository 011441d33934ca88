// The scheduler killed at every message and brought back from its journal: every position exactly once, and
// the plain loop's result bit for bit, as if nothing had happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "balancing/policies.h"
#include "tests/hosts/whole_jobs.h"

namespace steelyard::test::scheduler_restart_test {
namespace {

using ::testing::Contains;

// Of every round one record with all of its positions, in order.
void expect_each_round_once(const World& world, const std::string& what, bool nobody_died) {
  Round next = 0;
  for (const ToRecorder& told : world.recorded()) {
    const auto* record = std::get_if<RoundRecord>(&told);
    if (record == nullptr || record->purpose != Purpose::train) continue;
    EXPECT_EQ(record->round, next) << what;
    std::uint64_t positions = 0;
    for (const RoundRecord::Part& part : record->parts) positions += part.share;
    if (nobody_died) {
      EXPECT_EQ(positions, record->positions.size() * record->passes) << what << ", round " << record->round;
    }
    next = record->round + 1;
  }
  EXPECT_EQ(next, world.scheduler().cursor().round()) << what;
}

void expect_as_undisturbed(World& world, const Job& job, const std::string& what, bool nobody_died = true) {
  expect_whole(world, job, what);
  expect_each_round_once(world, what, nobody_died);
}

Job small_job(const std::string& sync, std::uint64_t epochs = 1) { return job_for(sync, 60, 24, epochs); }

const std::vector<std::string> modes{"bsp",       "flexrr",        "ssp:2",       "asp",
                                     "dc-asgd:0", "nsoft:2",       "eager",       "ksoft:2",
                                     "local:3",   "diloco:2",      "diloco:4",    "local:1",
                                     "nsoft:1",   "oneshot:epoch", "oneshot:end", "local:1:equal"};

std::uint64_t messages_of(const Job& job) {
  World quiet(job, {});
  quiet.populate(3, 2);
  quiet.run();
  expect_as_undisturbed(quiet, job, "undisturbed");
  return quiet.delivered();
}

TEST(SchedulerRestart, AtEveryMessageInEveryMode) {
  for (const std::string& sync : modes) {
    const Job job = small_job(sync);
    const std::uint64_t messages = messages_of(job);
    for (std::uint64_t at = 0; at < messages; ++at) {
      for (const bool notice : {true, false}) {
        World::Options options;
        options.scheduler_dies_at = {at};
        options.members_notice = notice;
        World world(job, options);
        world.populate(3, 2);
        world.run();
        const std::string what =
            sync + ", killed at message " + std::to_string(at) + (notice ? "" : ", unnoticed");
        ASSERT_EQ(world.restarts(), 1U) << what;
        expect_as_undisturbed(world, job, what, notice);
        if (HasFailure()) return;
      }
    }
  }
}

// The disk is late: what was not on it when the process was killed, nobody has heard.
TEST(SchedulerRestart, WithAJournalThatIsLate) {
  for (const std::string sync : {"bsp", "ssp:2", "asp", "eager", "local:3", "diloco:2"}) {
    for (const double late_ms : {3., 40.}) {
      const Job job = small_job(sync);
      World::Options options;
      options.journal_late_ms = late_ms;
      World quiet(job, options);
      quiet.populate(3, 2);
      quiet.run();
      expect_as_undisturbed(quiet, job, sync + ", undisturbed");
      for (std::uint64_t at = 0; at < quiet.delivered(); ++at) {
        options.scheduler_dies_at = {at};
        World world(job, options);
        world.populate(3, 2);
        world.run();
        const std::string what = sync + ", killed at message " + std::to_string(at);
        ASSERT_EQ(world.restarts(), 1U) << what;
        expect_as_undisturbed(world, job, what, false);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(SchedulerRestart, WithAGate) {
  Job job = small_job("bsp");
  job.clip_norm = 1e9;  // a gate that changes nothing
  for (std::uint64_t at = 0, messages = messages_of(job); at < messages; ++at) {
    World::Options options;
    options.scheduler_dies_at = {at};
    World world(job, options);
    world.populate(3, 2);
    world.run();
    expect_as_undisturbed(world, job, "killed at message " + std::to_string(at));
    if (HasFailure()) return;
  }
}

// Several times, while workers are killed and connections break.
TEST(SchedulerRestart, AmongOtherFaults) {
  const std::vector<std::string> policies = balancing::policy_names();
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed * 13);
    const std::string& sync = modes[seed % modes.size()];
    Job job = small_job(sync, 2);
    job.checkpoint_rounds = 1;
    World::Options options;
    options.seed = seed;
    options.policy = policies[random.below(policies.size())];
    for (int i = 0; i < 4; ++i) options.scheduler_dies_at.insert(random.below(400));
    World world(job, options);
    world.populate(3, 2);
    int newcomers = 0;
    world.on_delivery = [&](const Envelope& envelope) {
      if (newcomers < 3 && random.uniform() < 0.004) {
        const NodeId victim = world.workers()[random.below(world.workers().size())];
        world.add_worker("newcomer-" + std::to_string(newcomers++));
        if (world.alive(victim)) world.kill(victim);
      }
      if (random.uniform() < 0.004) {
        const NodeId worker = world.workers()[random.below(world.workers().size())];
        world.break_connection(worker,
                               random.below(2) == 0 ? scheduler_node : world.shards()[random.below(2)]);
      }
      return world.alive(envelope.to);
    };
    world.run();
    expect_as_undisturbed(world, job, "seed " + std::to_string(seed) + ", " + sync + ", " + options.policy,
                          false);
    if (HasFailure()) return;
  }
}

TEST(SchedulerRestart, IsToldAndAllGoOnWhereTheyWere) {
  World::Options options;
  options.scheduler_dies_at = {120};
  World world(small_job("bsp"), options);
  world.populate(3, 2);
  world.run();
  std::vector<std::string> notes;
  for (const ToRecorder& told : world.recorded()) {
    if (const auto* it = std::get_if<Note>(&told)) notes.push_back(it->text);
  }
  EXPECT_THAT(notes, Contains("the scheduler was restarted; the job continues"));
  EXPECT_EQ(std::ranges::count(notes, "worker 'worker-0' joined"), 1);
  EXPECT_EQ(world.scheduler().members().workers.size(), 3U);
}

}  // namespace
}  // namespace steelyard::test::scheduler_restart_test
