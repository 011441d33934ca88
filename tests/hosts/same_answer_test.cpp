// For every division of rounds, number of workers and transport, training equals one loop on one thread, up
// to the order of summation.
#include <gtest/gtest.h>

#include <cmath>

#include "nn/models.h"
#include "tests/support/test_cluster.h"
#include "worker/data/data_sets.h"

namespace steelyard::test::same_answer_test {
namespace {

struct Case {
  const char* model;
  double rate;
  nn::Optimizer optimizer;
  std::uint64_t rounds;
  double bound;
};

// The maximum over all tensors of |a - b| / |b| in the Euclidean norm.
double distance(const Layout& layout, const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (const TensorPlace& tensor : layout.tensors) {
    double difference = 0, norm = 0;
    for (std::uint64_t i = tensor.offset; i < tensor.offset + tensor.size(); ++i) {
      difference += std::pow(double{a[i]} - double{b[i]}, 2);
      norm += std::pow(double{b[i]}, 2);
    }
    worst = std::max(worst, std::sqrt(difference / std::max(norm, 1e-30)));
  }
  return worst;
}

Job job_for(const Case& c, std::uint32_t workers) {
  Job job;
  job.seed = 7;
  job.model = c.model;
  job.global_batch = 80;
  job.epochs = 0;
  job.rounds = c.rounds;
  job.workers = workers;
  job.shards = 1 + workers % 3;
  job.optimizer = c.optimizer;
  job.schedule.base = c.rate;
  job.evaluate_every = 0;
  job.checkpoint_every = 0;
  job.heartbeat = 0.1;
  job.heartbeat_timeout = 60;
  return job;
}

DataSets data() {
  static const DataSets sets =
      open_data("synthetic", {{"train", "400"}, {"test", "100"}, {"height", "28"}, {"width", "28"}});
  return sets;
}

nn::Model model_for(const Job& job) {
  return nn::make_model(job.model, {data().train->shape(), data().train->classes(), job.model_options});
}

class SameAnswer : public ::testing::TestWithParam<Case> {};

TEST_P(SameAnswer, ForEveryNumberOfWorkersAndTransport) {
  const Case c = GetParam();
  std::vector<float> right;
  for (std::uint32_t workers = 1; workers <= 6; ++workers) {
    for (const Transport transport : transports()) {
      Job job = job_for(c, workers);
      const nn::Model model = model_for(job);
      const Snapshot initial = fresh(job, model, data());
      if (right.empty()) right = plain_loop(job, model, data(), initial, c.rounds).parameters;
      const ClusterResult result =
          run_cluster(job, model, data(), {transport, initial, {}, std::uint64_t{31} * workers});
      ASSERT_EQ(result.stop.outcome, Outcome::finished) << result.stop.text;
      ASSERT_FALSE(result.stored.empty());
      const Snapshot& end = result.stored.back();
      EXPECT_EQ(end.progress.version, c.rounds);
      EXPECT_LE(distance(job.layout, end.parameters, right), c.bound)
          << c.model << ", " << workers << " workers over " << name(transport);
    }
  }
}

// Under sanitizers fewer rounds suffice.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t slow_rounds = 10, fast_rounds = 5;
#else
constexpr std::uint64_t slow_rounds = 100, fast_rounds = 20;
#endif

constexpr nn::Optimizer sgd{nn::Optimizer::Kind::sgd, 0, 0};
constexpr nn::Optimizer momentum{nn::Optimizer::Kind::momentum, 0.9, 1e-4};

INSTANTIATE_TEST_SUITE_P(HundredRounds, SameAnswer,
                         ::testing::Values(Case{"softmax", 0.05, momentum, slow_rounds, 1e-4},
                                           Case{"svm", 0.01, momentum, slow_rounds, 1e-4},
                                           Case{"mlp", 0.001, momentum, slow_rounds, 1e-4},
                                           Case{"lenet5", 0.001, momentum, slow_rounds, 1e-4}),
                         [](const auto& at) { return std::string(at.param.model); });
INSTANTIATE_TEST_SUITE_P(TwentyFastRounds, SameAnswer,
                         ::testing::Values(Case{"softmax", 0.05, momentum, fast_rounds, 1e-4},
                                           Case{"svm", 0.05, momentum, fast_rounds, 1e-4},
                                           Case{"mlp", 0.05, momentum, fast_rounds, 1e-4},
                                           Case{"lenet5", 0.05, momentum, fast_rounds, 1e-4}),
                         [](const auto& at) { return std::string(at.param.model); });

constexpr nn::Optimizer adaptive(nn::Optimizer::Kind kind) {
  return {.kind = kind, .weight_decay = 1e-4, .epsilon = 1e-3, .trust = 0.01};
}
INSTANTIATE_TEST_SUITE_P(
    Adaptive, SameAnswer,
    ::testing::Values(Case{"softmax", 0.01, adaptive(nn::Optimizer::Kind::adam), fast_rounds, 1e-4},
                      Case{"svm", 1, adaptive(nn::Optimizer::Kind::lars), fast_rounds, 1e-4},
                      Case{"mlp", 0.001, adaptive(nn::Optimizer::Kind::adamw), fast_rounds, 1e-4},
                      Case{"lenet5", 0.001, adaptive(nn::Optimizer::Kind::lamb), fast_rounds, 1e-4}),
    [](const auto& at) { return std::string(at.param.model); });

// With no momentum, one round's step is the averaged gradient times the learning rate. It is computed as a
// difference of parameters, so it includes their rounding error. (Parameters of zero have none, but then only
// the last layer has a gradient.) A huge rate scales the step far above that error.
TEST(SameGradient, OneRoundOfEveryModel) {
  constexpr double rate = 1e6;
  for (const char* model_name : {"softmax", "svm", "mlp", "lenet5"}) {
    const Case c{model_name, rate, sgd, 1, 1e-5};
    for (std::uint32_t workers = 1; workers <= 6; ++workers) {
      Job job = job_for(c, workers);
      const nn::Model model = model_for(job);
      const Snapshot initial = fresh(job, model, data());
      const std::vector<float> right = plain_loop(job, model, data(), initial, 1).parameters;
      for (const Transport transport : transports()) {
        const ClusterResult result =
            run_cluster(job, model, data(), {transport, initial, {}, std::uint64_t{17} * workers});
        ASSERT_FALSE(result.stored.empty());
        EXPECT_LE(distance(job.layout, result.stored.back().parameters, right), c.bound)
            << c.model << ", " << workers << " workers over " << name(transport);
      }
    }
  }
}

class Resume : public ::testing::TestWithParam<Case> {};

TEST_P(Resume, EqualsAnUninterruptedRun) {
  const Case c = GetParam();
  Job job = job_for(c, 3);
  const nn::Model model = model_for(job);
  const Snapshot initial = fresh(job, model, data());
  const Snapshot right = plain_loop(job, model, data(), initial, 30);
  Job half = job;
  half.rounds = 13;
  const ClusterResult first = run_cluster(half, model, data(), {Transport::local, initial, {}, 3});
  ASSERT_FALSE(first.stored.empty());
  Snapshot from = first.stored.back();
  ++from.progress.term;
  job.workers = 2;  // and another number of servers
  job.shards = 3;
  Snapshot relaid = from;
  relaid.layout = fresh(job, model, data()).layout;
  const ClusterResult second = run_cluster(job, model, data(), {Transport::local, relaid, {}, 4});
  ASSERT_FALSE(second.stored.empty());
  EXPECT_LE(distance(job.layout, second.stored.back().parameters, right.parameters), c.bound);
  EXPECT_EQ(second.stored.back().progress.epoch, right.progress.epoch);
  EXPECT_EQ(second.stored.back().progress.offset, right.progress.offset);
}

INSTANTIATE_TEST_SUITE_P(Models, Resume,
                         ::testing::Values(Case{"lenet5", 0.01, momentum, 30, 1e-4},
                                           Case{"mlp", 0.001, adaptive(nn::Optimizer::Kind::lamb), 30, 1e-4}),
                         [](const auto& at) { return std::string(at.param.model); });

TEST(Cluster, LearnsAndBalancesUnequalWorkers) {
  Job job = job_for({"softmax", 0.05, momentum, 0, 0}, 3);
  job.epochs = 8;
  job.rounds = 0;
  job.policy = "lb-bsp";
  job.evaluate_every = 4;
  const nn::Model model = model_for(job);
  const Snapshot initial = fresh(job, model, data());
  const ClusterResult result =
      run_cluster(job, model, data(), {Transport::local, initial, {"1", "2", "4"}, 0});
  EXPECT_EQ(result.stop.outcome, Outcome::finished);
  EXPECT_GT(result.accuracy, 0.9);
}

}  // namespace
}  // namespace steelyard::test::same_answer_test
