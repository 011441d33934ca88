// Real training in every sync mode, over the local transport: it learns, and modes that are equal by
// definition give the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "nn/models.h"
#include "tests/support/test_cluster.h"
#include "worker/data/data_sets.h"

namespace steelyard::test::mode_training_test {
namespace {

DataSets data() {
  static const DataSets sets =
      open_data("synthetic", {{"train", "800"}, {"test", "200"}, {"height", "12"}, {"width", "12"}});
  return sets;
}

Job job_for(const std::string& sync, const char* model = "mlp") {
  Job job;
  job.seed = 5;
  job.model = model;
  job.sync = parse_sync(sync);
  job.policy = job.sync.paced ? "orchestra" : "equal";
  job.global_batch = 90;
  job.epochs = 8;
  job.workers = 3;
  job.shards = 2;
  job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
  job.schedule.base = 0.05;
  job.schedule.epochs = 8;
  job.heartbeat = 0.1;
  job.heartbeat_timeout = 60;
  return job;
}

struct Trained {
  Job job;
  ClusterResult result;
  Snapshot initial;
};

Trained train(Job job, std::uint64_t policy_seed = 0) {
  const nn::Model model =
      nn::make_model(job.model, {data().train->shape(), data().train->classes(), job.model_options});
  const Snapshot initial = fresh(job, model, data());
  ClusterResult result =
      run_cluster(job, model, data(), {Transport::local, initial, {"1", "1", "3"}, policy_seed});
  return {job, std::move(result), initial};
}

class ModeTraining : public ::testing::TestWithParam<const char*> {};

TEST_P(ModeTraining, Learns) {
  const Trained trained = train(job_for(GetParam()));
  ASSERT_EQ(trained.result.stop.outcome, Outcome::finished) << trained.result.stop.text;
  EXPECT_GT(trained.result.accuracy, 0.9);
  ASSERT_FALSE(trained.result.stored.empty());
  EXPECT_EQ(trained.result.stored.back().progress.epoch, 8U);
}

// Gradients are also clipped in modes in which workers apply them. Without clipping this rate diverges.
TEST_P(ModeTraining, ClipsLongGradients) {
  Job job = job_for(GetParam(), "softmax");
  job.epochs = 1;
  job.rounds = std::string(GetParam()).starts_with("oneshot") ? 0 : 1;
  job.global_batch = 800;
  job.clip_norm = 1e-3;
  job.evaluate_every = 0;
  const Trained trained = train(job);
  ASSERT_FALSE(trained.result.stored.empty());
  double squares = 0;
  for (std::size_t i = 0; i < trained.initial.parameters.size(); ++i) {
    const double moved = double{trained.result.stored.back().parameters[i]} - trained.initial.parameters[i];
    squares += moved * moved;
  }
  // One round: one step, one per each of three pieces, or a few local steps.
  EXPECT_GT(std::sqrt(squares), 0);
  EXPECT_LT(std::sqrt(squares), 3.1 * job.clip_norm * job.schedule.base);
}

INSTANTIATE_TEST_SUITE_P(All, ModeTraining,
                         ::testing::Values("bsp", "flexrr", "ssp:2", "asp", "dc-asgd", "dc-asgd:adaptive",
                                           "dynsgd", "sync-switch:25", "elastic-bsp:4", "nsoft:2", "ksoft:2",
                                           "eager", "ksoft-wait:2", "local:3", "local:3:equal",
                                           "oneshot:epoch", "oneshot:end", "diloco:3", "mll:3:2:2",
                                           "orchestra"),
                         [](const auto& at) {
                           std::string name = at.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == ':' || c == '-'; }, '_');
                           return name;
                         });

std::vector<float> end_of(const std::string& sync, double warmup, std::uint64_t policy_seed) {
  Job job = job_for(sync);
  job.sum_order = SumOrder::positions;
  job.schedule.kind = nn::Schedule::Kind::cosine;
  job.schedule.warmup = warmup;
  const Trained trained = train(job, policy_seed);
  EXPECT_EQ(trained.result.stop.outcome, Outcome::finished) << trained.result.stop.text;
  return trained.result.stored.empty() ? std::vector<float>() : trained.result.stored.back().parameters;
}

TEST(SameBits, OneLocalStepAndNoSlackAreBsp) {
  for (const std::uint64_t seed : {0U, 7U}) {  // equal shares, random shares
    const std::vector<float> bsp = end_of("bsp", 0.1, seed);
    ASSERT_FALSE(bsp.empty());
    EXPECT_EQ(end_of("bsp", 0.1, seed), bsp) << "ordered sums are reproducible";
    EXPECT_EQ(end_of("ssp:0", 0.1, seed), bsp);
    EXPECT_EQ(end_of("local:1", 0.1, seed), bsp);
  }
}

// With equal shares every worker takes H steps, whether H is given or follows from its share.
TEST(SameBits, BalancedStepsWithEqualSharesAreLocalSteps) {
  const std::vector<float> local = end_of("local:4", 0.1, 0);
  ASSERT_FALSE(local.empty());
  EXPECT_EQ(end_of("diloco:4", 0.1, 0), local);
}

// MLL-SGD (Castiglia, Das, Patterson, ICLR 2021, section 4, special cases): with one hub and equal speeds all
// workers step in every slot. Averaging in each slot is distributed SGD; less often, it is local SGD.
TEST(SameBits, OneHubIsLocalSteps) {
  for (const auto& [hub, local] : {std::pair("mll:1:1:1", "bsp"), {"mll:4:1:1", "local:4"}}) {
    const std::vector<float> ends = end_of(local, 0.1, 0);
    ASSERT_FALSE(ends.empty());
    EXPECT_EQ(end_of(hub, 0.1, 0), ends) << hub;
  }
}

// The same section: hubs that all mix after every round are local SGD over all workers, except that the sums
// of hubs are rounded separately.
TEST(SameEnd, HubsThatMixEveryRoundAreLocalSteps) {
  const auto end = [](const std::string& sync) {
    Job job = job_for(sync, "softmax");
    job.sum_order = SumOrder::positions;
    const Trained trained = train(job);
    EXPECT_EQ(trained.result.stop.outcome, Outcome::finished) << trained.result.stop.text;
    return trained.result.stored.empty() ? std::vector<float>() : trained.result.stored.back().parameters;
  };
  const std::vector<float> local = end("local:4"), hubs = end("mll:4:1:3"), rarely = end("mll:4:5:3");
  ASSERT_FALSE(local.empty());
  ASSERT_EQ(local.size(), hubs.size());
  ASSERT_EQ(local.size(), rarely.size());
  double furthest = 0, others = 0;
  for (std::size_t i = 0; i < local.size(); ++i) {
    furthest = std::max(furthest, std::abs(double{local[i]} - hubs[i]));
    others = std::max(others, std::abs(double{local[i]} - rarely[i]));
  }
  EXPECT_LT(furthest, 1e-6);
  EXPECT_GT(others, 1e-5) << "hubs that mix every fifth round must differ";
}

// With coded pushes and pulls, also in modes with local steps.
TEST(Coded, LearnsFromFewBits) {
  for (const char* sync : {"bsp", "local:3", "diloco:3"}) {
    for (const FloatCode code : {FloatCode::bf16, FloatCode::int8, FloatCode::int4}) {
      Job job = job_for(sync);
      job.push_encoding = job.pull_encoding = code;
      const Trained trained = train(job);
      ASSERT_EQ(trained.result.stop.outcome, Outcome::finished) << trained.result.stop.text;
      EXPECT_GT(trained.result.accuracy, 0.9) << sync << " in code " << static_cast<int>(code);
    }
  }
}

}  // namespace
}  // namespace steelyard::test::mode_training_test
