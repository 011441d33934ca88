// Real gradients under virtual time: the same parameters as without a cluster, and the same times as without
// training.
#include "sim/training/real_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "balancing/policies.h"
#include "nn/models.h"
#include "nn/network.h"
#include "sim/simulation.h"
#include "tests/sim/made_scenarios.h"
#include "worker/compute/feed.h"
#include "worker/data/data_sets.h"

namespace steelyard::sim::real_training_test {
namespace {

nn::Model softmax(const DataSets& data) {
  return nn::make_model("softmax", {data.train->shape(), data.train->classes(), {}});
}

std::shared_ptr<RealTraining> softmax_training() {
  DataSets data = open_data(
      "synthetic", {{"train", "640"}, {"test", "200"}, {"height", "6"}, {"width", "6"}, {"noise", "0.4"}});
  const nn::Model model = softmax(data);
  auto training = std::make_shared<RealTraining>(model_workload(model, std::move(data)));
  training->optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
  training->schedule.base = 0.1;
  return training;
}

// Four epochs of five rounds, computed by workers with these curves.
Scenario training_scenario(const std::vector<std::vector<double>>& curves) {
  Scenario scenario = made(128, curves);
  scenario.rounds = 0;
  scenario.epochs = 4;
  scenario.samples_per_epoch = 640;
  scenario.training = softmax_training();
  return scenario;
}

std::vector<float> trained(const Scenario& scenario, const std::string& policy) {
  ScenarioRun world(scenario, [&](const auto&) { return balancing::make_policy(policy); },
                    {ScenarioRun::Checks::steps, {}});
  world.run();
  return world.results().parameters();
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double apart = 0, length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart += (a[i] - b[i]) * (a[i] - b[i]);
    length += a[i] * a[i];
  }
  return std::sqrt(apart / length);
}

// The same training in a plain loop, without scheduler, shards and workers: batches in order and plain SGD.
std::vector<float> plain_loop(const Scenario& scenario, const RealTraining& training) {
  const DataSets& data = training.workload.data;
  nn::Network network(softmax(data));
  BatchBuffer buffer(data.train->shape(), 1, BatchSizes({32, 16, 8, 4, 2, 1}));
  std::vector<float> parameters(training.workload.layout.size()), gradient(parameters.size());
  training.workload.initialize(parameters, scenario.seed);
  for (std::uint64_t epoch = 0; epoch < scenario.epochs; ++epoch) {
    const SampleOrder order(data, Purpose::train, scenario.seed, epoch);
    for (Position begin = 0; begin < scenario.samples_per_epoch; begin += scenario.global_batch) {
      const Position end = begin + scenario.global_batch;
      for (Position at = begin; at < end;) {
        const nn::MicroBatch& batch = buffer.fill(order, {at, end});
        network.train(parameters, batch, gradient, at != begin, nullptr);
        at += batch.count;
      }
      const auto count = static_cast<float>(scenario.global_batch);
      for (std::size_t i = 0; i < gradient.size(); ++i) parameters[i] -= 0.1F * gradient[i] / count;
    }
  }
  return parameters;
}

TEST(RealTrainings, ParametersMatchTrainingWithoutACluster) {
  const Scenario alone = training_scenario({{10, 1}});
  const auto expected = plain_loop(alone, *softmax_training());
  EXPECT_LT(distance(expected, trained(alone, "equal")), 1e-5);

  Scenario cluster = training_scenario({{10, 1}, {0, 4}, {5, 0.5}});
  cluster.servers = 2;
  for (Device& device : cluster.workers) device.noise = 0.1;
  EXPECT_LT(distance(expected, trained(cluster, "steelyard")), 1e-5) << "any division gives the same result";
  cluster.events.push_back(on(2, 3, 9));
  cluster.events.back().kill = true;
  cluster.events.push_back(on(1, 6, 7));
  cluster.events.back().cut = true;
  EXPECT_LT(distance(expected, trained(cluster, "lb-bsp")), 1e-5) << "no position is lost or counts twice";
}

TEST(RealTrainings, TrainingLearnsAndReportsEvaluations) {
  Scenario scenario = training_scenario({{10, 1}, {10, 2}});
  scenario.network.step_ms = 5;
  scenario.epochs = 40;
  auto training = softmax_training();
  training->evaluate_every = 10;
  scenario.training = training;
  const Result result = simulate(scenario);
  ASSERT_TRUE(result.trained);
  ASSERT_EQ(result.evaluations.size(), 4U) << "one evaluation per ten epochs";
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(result.evaluations[i].round, 50 * (i + 1));
  EXPECT_NEAR(result.evaluations[0].seconds, 50 * 0.143, 1e-6) << "virtual time: 10 + 2 x 64 + 5 ms a round";
  EXPECT_NEAR(result.evaluations[3].seconds, result.total_s(), 1e-9);
  EXPECT_GT(result.evaluations[3].accuracy, 0.9);
  EXPECT_GT(result.evaluations[3].accuracy, result.evaluations[0].accuracy);
  EXPECT_LT(result.evaluations[3].loss, result.evaluations[0].loss);
  EXPECT_LT(result.rounds.back().loss, 0.5 * result.rounds.front().loss);
}

TEST(RealTrainings, TheSameSeedGivesTheSameBits) {
  for (const std::string policy : {"equal", "lb-bsp", "steelyard"}) {
    Scenario scenario = training_scenario({{10, 1}, {0, 4}, {5, 0.5}});
    scenario.policy = policy;
    scenario.workers[0].noise = 0.1;
    scenario.events.push_back(on(2, 3, 9));
    scenario.events.back().kill = true;
    const std::string text = to_json(simulate(scenario));
    EXPECT_EQ(text, to_json(simulate(scenario))) << policy;
    EXPECT_EQ(trained(scenario, policy), trained(scenario, policy)) << policy;
    scenario.seed = 2;
    EXPECT_NE(text, to_json(simulate(scenario))) << policy;
  }
}

// Stale gradients, local steps and averages are really computed, and a second run gives the same results.
TEST(RealTrainings, TrainingLearnsInEverySyncMode) {
  for (const std::string sync : {"bsp", "ssp:2", "asp", "local:3", "oneshot:epoch"}) {
    Scenario scenario = training_scenario({{10, 1}, {0, 4}, {5, 0.5}});
    scenario.sync = sync;
    scenario.epochs = 40;
    scenario.servers = 2;
    const Result result = simulate(scenario);
    EXPECT_EQ(to_json(result), to_json(simulate(scenario))) << sync;
    EXPECT_EQ(result.evaluations.size(), 40U) << sync;
    EXPECT_EQ(result.evaluations.back().updates, result.updates)
        << sync << ": the run ends with an evaluation";
    EXPECT_GT(result.evaluations.back().accuracy, 0.8) << sync;
  }
}

// Computed values, evaluations included, do not affect virtual time.
TEST(RealTrainings, TrainingDoesNotChangeTheTimes) {
  for (const NetworkOptions& network :
       {NetworkOptions{.step_ms = 20},
        NetworkOptions{.latency_ms = 3, .bandwidth_gbps = 8, .model_mb = 20}}) {
    Scenario scenario = training_scenario({{10, 1}, {0, 4}, {5, 0.5}});
    scenario.network = network;
    const auto rounds = [&](bool trains) {
      ScenarioRun world(scenario, [](const auto&) { return balancing::make_policy("lb-bsp"); },
                        {ScenarioRun::Checks::rounds, {}, trains});
      world.run();
      EXPECT_EQ(world.results().evaluations().size(), trains ? 4U : 0U);
      return world.results().rounds();
    };
    const auto with = rounds(true), without = rounds(false);
    ASSERT_EQ(with.size(), 20U);
    ASSERT_EQ(without.size(), 20U);
    for (std::size_t k = 0; k < 20; ++k) {
      EXPECT_EQ(with[k].shares, without[k].shares) << k;
      EXPECT_NEAR(with[k].round_ms, without[k].round_ms, 1e-4) << k;
    }
  }
}

TEST(RealTrainings, TrainingStopsAtItsTargetAccuracy) {
  Scenario scenario = training_scenario({{0, 1}, {0, 1}});
  scenario.epochs = 50;
  scenario.target_accuracy = 0.9;
  const Result result = simulate(scenario);
  EXPECT_GE(result.evaluations.back().accuracy, 0.9);
  EXPECT_LT(result.rounds.size(), 100U);
  EXPECT_NEAR(result.percent_of_ideal(), 100, 0.1) << "the workers are equal, so equal shares are optimal";
}

TEST(RealTrainings, ServersApplyMomentumAndClipping) {
  Scenario scenario = training_scenario({{10, 1}, {10, 2}});
  const auto plain = trained(scenario, "equal");
  auto clipped = softmax_training();
  clipped->clip_norm = 0.01;
  scenario.training = clipped;
  EXPECT_GT(distance(plain, trained(scenario, "equal")), 0.01);
  auto heavy = softmax_training();
  heavy->optimizer = {nn::Optimizer::Kind::momentum, 0.9, 0};
  scenario.training = heavy;
  scenario.servers = 3;
  EXPECT_GT(distance(plain, trained(scenario, "equal")), 0.01);
}

}  // namespace
}  // namespace steelyard::sim::real_training_test
