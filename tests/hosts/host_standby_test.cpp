// The scheduler is lost permanently at every message, with a standby on another machine: every position
// counts once, and the result equals the plain loop bit for bit.
#include <gtest/gtest.h>

#include <functional>

#include "tests/hosts/whole_jobs.h"

namespace steelyard::test::standby_test {
namespace {

const std::vector<std::string> modes{"bsp", "ssp:2", "asp", "eager", "local:3", "diloco:2"};

Job small_job(const std::string& sync) { return job_for(sync, 60, 24, 1); }

World::Options with_standby() {
  World::Options options;
  options.standby = true;
  return options;
}

std::uint64_t messages_of(const Job& job) {
  World quiet(job, with_standby());
  quiet.populate(3, 2);
  quiet.run();
  expect_whole(quiet, job, "undisturbed");
  EXPECT_EQ(quiet.take_overs(), 0U);
  return quiet.delivered();
}

// Kills the scheduler at each message, each in a new world. Returns how often the standby took over.
std::uint64_t take_overs_of(const std::string& sync, std::uint64_t messages,
                            const std::function<World::Options(std::uint64_t at)>& options_at) {
  const Job job = small_job(sync);
  std::uint64_t take_overs = 0;
  for (std::uint64_t at = 0; at < messages && !testing::Test::HasFailure(); ++at) {
    World::Options options = options_at(at);
    options.scheduler_dies_at = {at};
    World world(job, options);
    world.populate(3, 2);
    world.run();
    take_overs += world.take_overs();
    expect_whole(world, job, sync + ", killed at message " + std::to_string(at));
  }
  return take_overs;
}

TEST(Standby, LeadsWhenTheSchedulerIsLost) {
  for (const std::string& sync : modes) {
    const std::uint64_t messages = messages_of(small_job(sync));
    const std::uint64_t take_overs =
        take_overs_of(sync, messages, [](std::uint64_t) { return with_standby(); });
    if (HasFailure()) return;
    EXPECT_GT(5 * take_overs, 2 * messages)
        << sync << ": the standby counts soon after the shards have joined";
  }
}

// The scheduler's disk is slow and the standby is not: answers wait for both.
TEST(Standby, LeadsWhenASchedulerWithASlowDiskIsLost) {
  const auto options_at = [](std::uint64_t at) {
    World::Options options = with_standby();
    options.journal_late_ms = 20;
    options.back_late_s = at % 2 == 0 ? 1 : std::numeric_limits<double>::infinity();
    return options;
  };
  for (const std::string& sync : modes) {
    const std::uint64_t take_overs = take_overs_of(sync, messages_of(small_job(sync)), options_at);
    if (HasFailure()) return;
    EXPECT_GT(take_overs, 0U) << sync;
  }
}

// The standby is cut off before the scheduler is lost: it lacks records, but no member has received answers
// that depend on them.
TEST(Standby, LeadsAlthoughItsJournalIsShorter) {
  for (const std::string& sync : modes) {
    const Job job = small_job(sync);
    const std::uint64_t messages = messages_of(job);
    for (std::uint64_t at = messages / 2; at < 2 * messages / 3; ++at) {
      World::Options options = with_standby();
      options.policy = "steelyard";
      World world(job, options);
      world.populate(3, 2);
      Time dies_at = Time::max();
      world.on_delivery = [&](const Envelope& it) {
        if (world.delivered() == at) dies_at = std::min(dies_at, world.now() + milliseconds(60));
        if (world.now() >= dies_at && world.take_overs() == 0) world.kill_scheduler();
        const bool to_standby = it.to == world.standby() && it.from == scheduler_node;
        return world.delivered() < at || !to_standby;
      };
      world.run();
      expect_whole(world, job, sync + ", kept from message " + std::to_string(at) + " on");
      EXPECT_EQ(world.take_overs(), 1U);
      if (HasFailure()) return;
    }
  }
}

TEST(Standby, MayBeLostAtAnyMessage) {
  for (const std::string& sync : modes) {
    const Job job = small_job(sync);
    for (std::uint64_t at = 0, messages = messages_of(job); at < messages; ++at) {
      World world(job, with_standby());
      world.populate(3, 2);
      world.on_delivery = [&](const Envelope&) {
        if (world.delivered() == at && world.alive(world.standby())) world.kill(world.standby());
        return true;
      };
      world.run();
      expect_whole(world, job, sync + ", killed at message " + std::to_string(at));
      EXPECT_EQ(world.take_overs(), 0U);
      if (HasFailure()) return;
    }
  }
}

// At a message the two lose contact in one or both directions, while both are alive. Exactly one
// of them leads.
TEST(Standby, OnlyOneLeadsIfTheyCannotReachEachOther) {
  const Job job = small_job("bsp");
  for (std::uint64_t at = 0, messages = messages_of(job); at < messages; ++at) {
    for (const int ways : {1, 2, 3}) {
      World::Options options = with_standby();
      options.seed = at + 1;
      World world(job, options);
      world.populate(3, 2);
      world.on_delivery = [&](const Envelope& it) {
        const bool there = it.from == scheduler_node && it.to == world.standby();
        const bool back = it.from == world.standby() && it.to == scheduler_node;
        return world.delivered() < at || !((there && (ways & 1) != 0) || (back && (ways & 2) != 0));
      };
      world.run();
      expect_whole(world, job, "cut at message " + std::to_string(at) + ", ways " + std::to_string(ways));
      if (HasFailure()) return;
    }
  }
}

// The scheduler is alive but cut off from all nodes, so none receives its later messages.
TEST(Standby, LeadsWhenTheSchedulerIsCutOffFromAll) {
  for (const std::string& sync : modes) {
    const Job job = small_job(sync);
    const std::uint64_t messages = messages_of(job);
    for (std::uint64_t at = messages / 2; at < 2 * messages / 3; ++at) {
      World world(job, with_standby());
      world.populate(3, 2);
      world.on_delivery = [&](const Envelope& it) {
        const bool its = it.from == scheduler_node || it.to == scheduler_node;
        return !its || world.delivered() < at || world.take_overs() > 0;
      };
      world.run();
      expect_whole(world, job, sync + ", cut off at message " + std::to_string(at));
      EXPECT_EQ(world.take_overs(), 1U);
      if (HasFailure()) return;
    }
  }
}

// The scheduler's process is restarted at the same place, and claims the job before it sends messages.
TEST(Standby, FollowsARestartedScheduler) {
  const Job job = small_job("bsp");
  for (std::uint64_t at = 0, messages = messages_of(job); at < messages; ++at) {
    World world(job, with_standby());
    world.populate(3, 2);
    bool killed = false;
    world.on_delivery = [&](const Envelope& it) {
      if (world.delivered() >= at && !killed) {
        killed = true;
        world.kill_scheduler();
        world.bring_back_soon();
      }
      return world.alive(it.to);
    };
    world.run();
    expect_whole(world, job, "killed at message " + std::to_string(at));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace steelyard::test::standby_test
