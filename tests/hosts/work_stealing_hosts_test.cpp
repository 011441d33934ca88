// Whole jobs in which pieces change hands while they are computed: whatever is lost, late or dead just then,
// every position counts once, and the parameters are those of the plain loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/hosts/whole_jobs.h"

namespace steelyard::test::work_stealing_hosts_test {
namespace {

using sim::Fault;
using sim::says;
using Effect = Fault::Effect;

// What was said of cuts, in all jobs of a test.
struct Count {
  std::size_t asked = 0, made = 0, late = 0;
};

class WorkStealing : public ::testing::Test {
 protected:
  // Rounds of 240 positions for three workers, one of them, another in each job, slow.
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
        count.asked += said<ToWorker, Cut>(envelope) != nullptr ? 1U : 0U;
        if (const auto* it = said<ToScheduler, CutAnswer>(envelope))
          ++(it->end == it->asked ? count.made : count.late);
        return !prepared || prepared(envelope);
      };
      world.run();
      expect_whole(world, job, "seed " + std::to_string(seed));
      if (HasFatalFailure()) return;
    }
  }
  template <class Receiver, class Said>
  static const Said* said(const Envelope& envelope) {
    const auto* receiver = std::get_if<Receiver>(&envelope.message);
    return receiver == nullptr ? nullptr : std::get_if<Said>(receiver);
  }

  Count count;
};

TEST_F(WorkStealing, HappensAndIsSometimesTooLate) {
  run({});
  EXPECT_GT(count.made, 200U);
  EXPECT_GT(count.late, 0U);
  EXPECT_LT(count.late, count.made / 4) << "that is the exception";
}

TEST_F(WorkStealing, GoesWithEveryPolicy) {
  for (const char* policy : {"lb-bsp", "steelyard", "lbb"}) run({}, {}, policy);
  EXPECT_GT(count.made, 200U);
}

TEST_F(WorkStealing, QuestionsAndAnswersMayBeLostTwiceAndLate) {
  run({}, {{.effect = Effect::lose, .kind = says<ToWorker, Cut>, .chance = 0.2},
           {.effect = Effect::lose, .kind = says<ToScheduler, CutAnswer, PieceProgress>, .chance = 0.2},
           {.effect = Effect::repeat, .kind = says<ToWorker, Cut>, .chance = 0.2},
           {.effect = Effect::repeat, .kind = says<ToScheduler, CutAnswer>, .chance = 0.2},
           {.effect = Effect::delay, .chance = 0.1, .most = milliseconds(50)}});
  EXPECT_GT(count.made, 100U);
}

// Its answer may be under way, or never be said; its pushes, up to the cut or of the whole, may still arrive.
TEST_F(WorkStealing, WhoIsCutMayDieWithTheQuestionOrTheAnswer) {
  const auto killing = [](World& world, Random& random) {
    world.on_kill = [&](NodeId) { world.add_worker("late-" + std::to_string(world.workers().size())); };
    world.on_delivery = [&world, random, left = 3](const Envelope& envelope) mutable {
      const bool cut = said<ToWorker, Cut>(envelope) != nullptr;
      const bool answer = said<ToScheduler, CutAnswer>(envelope) != nullptr;
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

TEST_F(WorkStealing, TheHelperMayDieWithWhatItTakesOver) {
  const auto killing = [](World& world, Random& random) {
    world.on_kill = [&](NodeId) { world.add_worker("late-" + std::to_string(world.workers().size())); };
    world.on_delivery = [&world, random, answered = false, left = 3](const Envelope& envelope) mutable {
      if (said<ToScheduler, CutAnswer>(envelope) != nullptr) answered = true;
      const bool taken = said<ToWorker, Start>(envelope) != nullptr && answered;
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

// Taken for dead in the middle of it: all that it says to the scheduler from a cut on is lost, and it works
// on.
TEST_F(WorkStealing, WhoIsCutMayBeCutOffAndPushAllTheSame) {
  const auto cutting_off = [](World& world, Random& random) {
    world.on_delivery = [random, off = std::optional<NodeId>()](const Envelope& envelope) mutable {
      if (said<ToWorker, Cut>(envelope) != nullptr && !off && random.below(2) == 0) off = envelope.to;
      return !off || envelope.from != *off || envelope.to != scheduler_node;
    };
  };
  run(cutting_off);
  EXPECT_GT(count.asked, 60U);
}

}  // namespace
}  // namespace steelyard::test::work_stealing_hosts_test
