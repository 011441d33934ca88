// Clusters with workers on different kinds of devices. Skipped in builds without a host executor.
#include <gmock/gmock.h>

#include <algorithm>

#include "nn/cuda_devices.h"
#include "nn/models.h"
#include "tests/support/distance.h"
#include "tests/support/test_cluster.h"
#include "worker/data/data_sets.h"

namespace steelyard::test::device_cluster_test {
namespace {

constexpr Device host_cuda{Device::Type::host_cuda};

struct Case {
  std::string model;
  std::map<std::string, std::string> options;
  std::map<std::string, std::string> data;
  double rate = 0.05;
  bool shares = false;  // batch norm is over whole shares, which are then equal
};

std::string title(const Case& c) { return c.model + (c.shares ? "_by_share" : ""); }
void PrintTo(const Case& c, std::ostream* out) { *out << title(c); }  // NOLINT: GoogleTest's name

class DeviceCluster : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
  }
};

Job job_for(const Case& c) {
  Job job;
  job.seed = 7;
  job.model = c.model;
  job.model_options = c.options;
  job.global_batch = 96;
  job.epochs = 0;
  job.rounds = 10;
  job.workers = 3;
  job.shards = 2;
  job.optimizer.kind = nn::Optimizer::Kind::sgd;
  job.schedule.base = c.rate;
  job.evaluate_every = 0;
  job.checkpoint_every = 0;
  job.heartbeat = 0.1;
  job.heartbeat_timeout = 60;
  return job;
}

TEST_P(DeviceCluster, EqualsACpuCluster) {
#ifdef __SANITIZE_THREAD__
  if (GetParam().model == "resnet20") {
    GTEST_SKIP() << "oneDNN is not instrumented, and its threads share a cache of primitives";
  }
#endif
  Job job = job_for(GetParam());
  const DataSets data = open_data("synthetic", GetParam().data);
  nn::Model model =
      nn::make_model(job.model, {data.train->shape(), data.train->classes(), job.model_options});
  if (GetParam().shares) model.normalize_shares(96), job.policy = "equal";
  job.grain = model.grain();
  const Snapshot from = fresh(job, model, data);
  const ClusterResult cpus = run_cluster(job, model, data, {.initial = from});
  const ClusterResult mixed = run_cluster(job, model, data, {.initial = from, .devices = {host_cuda}});
  ASSERT_FALSE(cpus.stored.empty());
  ASSERT_FALSE(mixed.stored.empty());
  EXPECT_GT(distance(cpus.stored.back().parameters, from.parameters), 1e-4) << "nothing was learned";
  EXPECT_LT(distance(mixed.stored.back().parameters, cpus.stored.back().parameters), 1e-4);
}

std::map<std::string, std::string> pictures(const char* side, const char* channels) {
  return {{"train", "200"}, {"test", "20"}, {"height", side}, {"width", side}, {"channels", channels}};
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceCluster,
                         testing::Values(Case{"mlp", {}, pictures("8", "1")},
                                         Case{"lenet5", {}, pictures("28", "1")},
                                         // At a learning rate at which two CPU clusters agree as well.
                                         Case{"resnet20", {}, pictures("8", "3"), 0.001},
                                         Case{"resnet20", {}, pictures("8", "3"), 0.001, true}),
                         [](const auto& of) { return title(of.param); });

}  // namespace
}  // namespace steelyard::test::device_cluster_test
