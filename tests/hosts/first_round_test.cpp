// Jobs with a profile: workers measure before training, and the first round is divided by their times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "balancing/cost/curves.h"
#include "balancing/policies.h"
#include "balancing/policy/static_profile.h"
#include "nn/models.h"
#include "tests/support/test_cluster.h"
#include "tests/support/test_world.h"
#include "worker/data/data_sets.h"

namespace steelyard::test::first_round_test {
namespace {

using ::testing::IsEmpty;

// ---- in virtual time, on machines of which three are 1, 2 and 8 times as slow as the first

constexpr std::uint64_t round_size = 512;

double time_of(std::uint64_t worker, std::uint64_t positions) {
  constexpr std::array<double, 4> slow{1, 1, 2, 8};
  const auto b = static_cast<double>(positions);
  return slow[worker] * (0.004 + 5e-4 * b + 1e-7 * b * b);
}

Job profiled_job() {
  Job job = toy_job(2 * round_size, round_size, 1, 4, 2);
  job.profile = true;
  return job;
}

World::Options with_policy(const std::string& policy) {
  World::Options options;
  options.policy = policy;
  return options;
}

// The longest time of the first round, relative to that of the best split.
double first_round(const World& world) {
  std::vector<balancing::Cubic> curves;
  balancing::Request request{1, round_size, {}};
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    const double slow = time_of(slot, 100) / time_of(0, 100);
    curves.push_back({{slow * 0.004, slow * 5e-4, slow * 1e-7}});
    request.workers.push_back({.slot = slot});
  }
  const std::vector<std::uint64_t> best_shares =
      balancing::profile_split(curves, request, balancing::share_bounds(request));
  double best = 0, longest = 0;
  for (std::uint32_t slot = 0; slot < 4; ++slot) best = std::max(best, time_of(slot, best_shares[slot]));
  for (const ToRecorder& message : world.recorded()) {
    const auto* record = std::get_if<RoundRecord>(&message);
    if (record == nullptr || record->purpose != Purpose::train || record->round != 0) continue;
    for (const RoundRecord::Part& part : record->parts) {
      const std::uint64_t number = static_cast<std::uint64_t>(part.name.back() - '0');
      longest = std::max(longest, time_of(number, part.share));
    }
    return longest / best;
  }
  return 0;
}

void prepare(World& world) {
  world.takes = [&](NodeId worker, std::uint64_t positions) {
    return time_of(
        static_cast<std::uint64_t>(std::ranges::find(world.workers(), worker) - world.workers().begin()),
        positions);
  };
  world.populate(4, 2);
}

void expect_balanced_start(World& world, const std::string& what) {
  EXPECT_THAT(world.violations(), IsEmpty()) << what;
  ASSERT_TRUE(world.scheduler().finished()) << what << ": the job hangs, " << world.describe();
  EXPECT_EQ(world.parameters(), world.expected(world.scheduler().cursor().round())) << what;
  EXPECT_GE(first_round(world), 1.0) << what;
  EXPECT_LE(first_round(world), 1.03) << what;
}

TEST(FirstRound, EveryPolicyBeginsWithTheProfile) {
  for (const std::string& policy : balancing::policy_names()) {
    if (policy == "equal") continue;
    World world(profiled_job(), with_policy(policy));
    prepare(world);
    world.run();
    expect_balanced_start(world, policy);
  }
}

TEST(FirstRound, WithoutAProfileItIsEqual) {
  Job job = profiled_job();
  job.profile = false;
  World world(job, with_policy("lbb"));
  prepare(world);
  world.run();
  EXPECT_GT(first_round(world), 3);
}

TEST(FirstRound, CurvesOfTheJobReplaceMeasurements) {
  Job job = profiled_job();
  for (std::uint64_t i = 0; i < 4; ++i) {
    const double slow = time_of(i, 100) / time_of(0, 100);
    job.curves.push_back({"worker-" + std::to_string(i), {slow * 0.004, slow * 5e-4, slow * 1e-7}});
  }
  World world(job, with_policy("lbb"));
  prepare(world);
  const auto takes = world.takes;
  std::set<NodeId> measured;
  world.takes = [&](NodeId worker, std::uint64_t positions) {
    if (!world.has_scheduler() || world.scheduler().phase() == Scheduler::Phase::gathering)
      measured.insert(worker);
    return takes(worker, positions);
  };
  world.run();
  expect_balanced_start(world, "curves of the job");
  EXPECT_THAT(measured, IsEmpty());
}

// A lost Ready is sent again, a repeated one counts once, and the times survive the scheduler.
TEST(FirstRound, TheProfileSurvivesLossesAndRestarts) {
  const auto is_ready = [](const Message& message) { return sim::says<ToScheduler, Ready>(message); };
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    World::Options options = with_policy("lbb");
    options.seed = seed;
    options.faults = {{.effect = sim::Fault::Effect::lose, .kind = is_ready, .count = 3, .chance = 0.5},
                      {.effect = sim::Fault::Effect::repeat, .kind = is_ready, .count = 6, .chance = 0.5}};
    options.standby = seed % 3 == 0;
    if (seed % 2 == 0) options.condense_after = 2000;
    World world(profiled_job(), options);
    prepare(world);
    std::size_t readies = 0;
    world.on_delivery = [&](const Envelope& envelope) {
      if (is_ready(envelope.message) && ++readies == 1 + seed % 4) world.kill_scheduler();
      return true;
    };
    world.run();
    EXPECT_GT(world.restarts() + world.take_overs(), 0U) << seed;
    expect_balanced_start(world, "seed " + std::to_string(seed));
  }
}

// Local steps, clipped gradients and pushes that are applied on arrival: a trial is a piece of any job.
TEST(FirstRound, EveryModeMeasures) {
  for (const char* sync : {"local:4", "diloco:4", "flexrr", "backup:1"}) {
    Job job = profiled_job();
    job.sync = parse_sync(sync);
    job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
    World world(job, with_policy("lbb"));
    prepare(world);
    world.run();
    EXPECT_TRUE(world.scheduler().finished()) << sync << ": " << world.describe();
    for (const auto& [slot, worker] : world.scheduler().members().workers) {
      const auto number = static_cast<std::uint64_t>(worker.name.back() - '0');
      const double time = balancing::Cubic{worker.curve}(64);
      EXPECT_NEAR(time / time_of(number, 64), 1, 0.01) << sync << ", " << worker.name;
    }
  }
}

// ---- with threads and real computation

TEST(FirstRound, RealWorkersAreDividedByTheirSpeed) {
  const DataSets data =
      open_data("synthetic", {{"train", "1024"}, {"test", "64"}, {"height", "16"}, {"width", "16"}});
  Job job;
  job.model = "mlp";
  job.policy = "lbb";
  job.profile = true;
  job.global_batch = 512;
  job.epochs = 1;
  job.workers = 4;
  job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
  job.schedule.base = 0.01;
  job.schedule.epochs = 1;
  job.heartbeat = 0.1;
  job.heartbeat_timeout = 60;
  const nn::Model model = nn::make_model(job.model, {data.train->shape(), data.train->classes(), {}});
  const Snapshot initial = fresh(job, model, data);
  const ClusterResult result =
      run_cluster(job, model, data, {Transport::local, initial, {"1", "1", "2", "8"}, 0});
  ASSERT_EQ(result.stop.outcome, Outcome::finished) << result.stop.text;
  std::map<std::string, double> shares;
  for (const RoundRecord::Part& part : result.rounds.front().parts)
    shares[part.name] = static_cast<double>(part.share);
  const double quick = (shares["worker-0"] + shares["worker-1"]) / 2;
  EXPECT_LT(shares["worker-2"], 0.8 * quick);
  EXPECT_LT(shares["worker-3"], 0.3 * quick);
  EXPECT_GT(shares["worker-3"], 0.04 * quick);
  std::size_t fits = 0;
  for (const std::string& note : result.notes) fits += note.find("Pearson") != std::string::npos ? 1 : 0;
  EXPECT_EQ(fits, 4U);
}

}  // namespace
}  // namespace steelyard::test::first_round_test
