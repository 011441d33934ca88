// The scheduler is killed at every message and restarted from its journal: every position counts once, and
// the result equals the plain loop bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "balancing/policies.h"
#include "tests/hosts/whole_jobs.h"

namespace steelyard::test::scheduler_restart_test {
namespace {

using ::testing::Contains;

// Expects one record per round, in order, with all of its positions.
void expect_each_round_once(const World& world, const std::string& what, bool all_survived) {
  Round next = 0;
  for (const ToRecorder& message : world.recorded()) {
    const auto* record = std::get_if<RoundRecord>(&message);
    if (record == nullptr || record->purpose != Purpose::train) continue;
    EXPECT_EQ(record->round, next) << what;
    std::uint64_t positions = 0;
    for (const RoundRecord::Part& part : record->parts) positions += part.share;
    if (all_survived) {
      EXPECT_EQ(positions, record->positions.size() * record->passes) << what << ", round " << record->round;
    }
    next = record->round + 1;
  }
  EXPECT_EQ(next, world.scheduler().cursor().round()) << what;
}

void expect_as_undisturbed(World& world, const Job& job, const std::string& what, bool all_survived = true) {
  expect_whole(world, job, what);
  expect_each_round_once(world, what, all_survived);
}

Job small_job(const std::string& sync, std::uint64_t epochs = 1) { return job_for(sync, 60, 24, epochs); }

const std::vector<std::string> modes{
    "bsp",     "flexrr",        "ssp:2",       "asp",           "dc-asgd:0",    "nsoft:2",
    "eager",   "ksoft:2",       "local:3",     "diloco:2",      "diloco:4",     "local:1",
    "nsoft:1", "oneshot:epoch", "oneshot:end", "local:1:equal", "ksoft-wait:2", "ksoft-wait:3:first"};

std::uint64_t messages_of(const Job& job) {
  World quiet(job, {});
  quiet.populate(3, 2);
  quiet.run();
  expect_as_undisturbed(quiet, job, "undisturbed");
  return quiet.delivered();
}

TEST(SchedulerRestart, SurvivesAtEveryMessageInEveryMode) {
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

// With a slow disk, messages leave only once the records they depend on are written.
TEST(SchedulerRestart, SurvivesWithASlowJournal) {
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

TEST(SchedulerRestart, SurvivesWithAClipBarrier) {
  Job job = small_job("bsp");
  job.clip_norm = 1e9;  // a clip barrier that changes nothing
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

// Several restarts while workers are killed and connections break.
TEST(SchedulerRestart, SurvivesWithOtherFaults) {
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

TEST(SchedulerRestart, IsReportedAndAllMembersContinue) {
  World::Options options;
  options.scheduler_dies_at = {120};
  World world(small_job("bsp"), options);
  world.populate(3, 2);
  world.run();
  std::vector<std::string> notes;
  for (const ToRecorder& message : world.recorded()) {
    if (const auto* it = std::get_if<Note>(&message)) notes.push_back(it->text);
  }
  EXPECT_THAT(notes, Contains("the scheduler was restarted; the job continues"));
  EXPECT_EQ(std::ranges::count(notes, "worker 'worker-0' joined"), 1);
  EXPECT_EQ(world.scheduler().members().workers.size(), 3U);
}

}  // namespace
}  // namespace steelyard::test::scheduler_restart_test
