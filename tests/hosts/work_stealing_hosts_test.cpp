// Whole jobs in which pieces are cut while they are computed. With lost or late messages and lost workers at
// that time, every position counts once, and the parameters equal the plain loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/hosts/whole_jobs.h"

namespace steelyard::test::work_stealing_hosts_test {
namespace {

using sim::Fault;
using sim::says;
using Effect = Fault::Effect;

// Counts of requested, successful and late cuts, over all jobs of a test.
struct Count {
  std::size_t asked = 0, made = 0, late = 0;
};

class WorkStealing : public ::testing::Test {
 protected:
  // Jobs with rounds of 240 positions and three workers; in each job another one of them is slow.
  void run(const std::function<void(World&, Random&)>& prepare, std::vector<Fault> faults = {},
           const std::string& policy = "equal") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      Job job = job_for("flexrr", 600, 240, 2);
      job.grain = std::vector{1U, 4U, 6U}[seed % 3];
      job.heartbeat_timeout = 5;
      World::Options options;
      options.seed = seed;
      options.policy = policy;
      options.faults = faults;
      World world(job, options);
      world.populate(3, 2);
      const NodeId slow = world.workers()[seed % 3];
      world.slowness = [slow](NodeId worker) { return worker == slow ? 5 : 1; };
      Random random(seed * 7);
      if (prepare) prepare(world, random);
      const auto prepared = world.on_delivery;
      world.on_delivery = [&, prepared](const Envelope& envelope) {
        count.asked += content<ToWorker, Cut>(envelope) != nullptr ? 1U : 0U;
        if (const auto* it = content<ToScheduler, CutAnswer>(envelope))
          ++(it->end == it->asked ? count.made : count.late);
        return !prepared || prepared(envelope);
      };
      world.run();
      expect_whole(world, job, "seed " + std::to_string(seed));
      if (HasFatalFailure()) return;
    }
  }
  template <class Receiver, class Content>
  static const Content* content(const Envelope& envelope) {
    const auto* receiver = std::get_if<Receiver>(&envelope.message);
    return receiver == nullptr ? nullptr : std::get_if<Content>(receiver);
  }

  Count count;
};

TEST_F(WorkStealing, CutsSucceedAndAreRarelyTooLate) {
  run({});
  EXPECT_GT(count.made, 200U);
  EXPECT_GT(count.late, 0U);
  EXPECT_LT(count.late, count.made / 4) << "late cuts must be rare";
}

TEST_F(WorkStealing, WorksWithEveryPolicy) {
  for (const char* policy : {"lb-bsp", "steelyard", "lbb"}) run({}, {}, policy);
  EXPECT_GT(count.made, 200U);
}

TEST_F(WorkStealing, CutMessagesMayBeLostRepeatedOrLate) {
  run({}, {{.effect = Effect::lose, .kind = says<ToWorker, Cut>, .chance = 0.2},
           {.effect = Effect::lose, .kind = says<ToScheduler, CutAnswer, PieceProgress>, .chance = 0.2},
           {.effect = Effect::repeat, .kind = says<ToWorker, Cut>, .chance = 0.2},
           {.effect = Effect::repeat, .kind = says<ToScheduler, CutAnswer>, .chance = 0.2},
           {.effect = Effect::delay, .chance = 0.1, .most = milliseconds(50)}});
  EXPECT_GT(count.made, 100U);
}

// Its answer may be in transit or never sent. Its pushes, of the cut or of the whole piece, may still arrive.
TEST_F(WorkStealing, TheCutWorkerMayBeLostDuringTheCut) {
  const auto killing = [](World& world, Random& random) {
    world.on_kill = [&](NodeId) { world.add_worker("late-" + std::to_string(world.workers().size())); };
    world.on_delivery = [&world, random, left = 3](const Envelope& envelope) mutable {
      const bool cut = content<ToWorker, Cut>(envelope) != nullptr;
      const bool answer = content<ToScheduler, CutAnswer>(envelope) != nullptr;
      if ((cut || answer) && left > 0 && random.below(3) == 0) {
        --left;
        world.kill(cut ? envelope.to : envelope.from);
      }
      return world.alive(envelope.to);
    };
  };
  run(killing);
  EXPECT_GT(count.asked, 200U);
}

TEST_F(WorkStealing, TheHelperMayBeLostWithTheTakenPiece) {
  const auto killing = [](World& world, Random& random) {
    world.on_kill = [&](NodeId) { world.add_worker("late-" + std::to_string(world.workers().size())); };
    world.on_delivery = [&world, random, answered = false, left = 3](const Envelope& envelope) mutable {
      if (content<ToScheduler, CutAnswer>(envelope) != nullptr) answered = true;
      const bool taken = content<ToWorker, Start>(envelope) != nullptr && answered;
      if (taken && left > 0 && random.below(2) == 0) {
        --left;
        world.kill(envelope.to);
      }
      if (taken) answered = false;
      return world.alive(envelope.to);
    };
  };
  run(killing);
  EXPECT_GT(count.made, 200U);
}

// A worker is declared lost during a cut: its messages to the scheduler are lost from then on, but it
// continues to compute and push.
TEST_F(WorkStealing, TheCutWorkerMayBeDisconnectedAndStillPush) {
  const auto cutting_off = [](World& world, Random& random) {
    world.on_delivery = [random, off = std::optional<NodeId>()](const Envelope& envelope) mutable {
      if (content<ToWorker, Cut>(envelope) != nullptr && !off && random.below(2) == 0) off = envelope.to;
      return !off || envelope.from != *off || envelope.to != scheduler_node;
    };
  };
  run(cutting_off);
  EXPECT_GT(count.asked, 60U);
}

}  // namespace
}  // namespace steelyard::test::work_stealing_hosts_test
