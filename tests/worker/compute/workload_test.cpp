// The model and data that a job trains, on this machine.
#include "worker/compute/workload.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "nn/cuda_devices.h"
#include "tests/worker/made_data.h"
#include "worker/compute/same_model.h"

namespace steelyard::workload_test {
namespace {

using ::testing::HasSubstr;

DataSets numbers() {
  return {std::make_shared<NumberedData>(60), std::make_shared<NumberedData>(9), "numbers"};
}
nn::Model model() { return nn::Model({1, 1, 2}, 3).linear("out", 3); }

TEST(Workload, HoldsAModelOnTheCpu) {
  const Workload workload = model_workload(model(), numbers());
  EXPECT_EQ(workload.layout.size(), 9U);
  EXPECT_EQ(workload.layout.slice_size, 0U) << "the job sets it";
  std::vector<float> parameters(9), again(9);
  workload.initialize(parameters, 4);
  workload.initialize(again, 4);
  EXPECT_EQ(parameters, again);
  workload.initialize(again, 5);
  EXPECT_NE(parameters, again);
  const auto engine = workload.make_engine();
  EXPECT_EQ(engine->micro_batch_sizes(), cpu_sizes);
  EXPECT_GE(engine->bytes(), 32 * (2 + 3) * sizeof(float)) << "inputs and outputs";
}

TEST(Workload, EachDeviceHasItsEngine) {
  const auto engine = [](const Computing& computing) {
    return model_workload(model(), numbers(), computing).make_engine();
  };
  EXPECT_EQ(engine({})->work_place(), WorkPlace::this_thread);
  EXPECT_EQ(engine({.threads = 2})->work_place(), WorkPlace::other_threads);
  EXPECT_EQ(model_workload(model(), numbers(), {.precision = Precision::bf16}).model->precision(),
            Precision::bf16);
  if (nn::built_with_host_cuda()) {
    EXPECT_EQ(engine({.device = {Device::Type::host_cuda}})->work_place(), WorkPlace::other_device);
  }
  EXPECT_THROW((void)engine({.device = {Device::Type::cuda, 99}}), Failure);
}

std::string trouble(const std::function<void()>& work, ExitCode code) {
  try {
    work();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), code);
    return failure.what();
  }
  return "no trouble";
}

TEST(Workload, AModelMustBeMadeForTheData) {
  const auto making = [](const nn::Model& model) { return [=] { (void)model_workload(model, numbers()); }; };
  EXPECT_THAT(trouble(making(nn::Model({1, 1, 3}, 3).linear("out", 3)), ExitCode::configuration),
              HasSubstr("takes samples of 1 x 1 x 3 in 3 classes, data set 'numbers' has 1 x 1 x 2 in 3"));
  EXPECT_THAT(trouble(making(nn::Model({1, 1, 2}, 3).relu()), ExitCode::configuration), HasSubstr("linear"));
}

TEST(Workload, LossAndDataHaveTheSameKindOfLabels) {
  const nn::Model squared = nn::Model({1, 1, 2}, 2, nn::Loss::mean_squared_error).linear("out", 2);
  const DataSets targets{std::make_shared<TargetData>(60), std::make_shared<TargetData>(9), "heights"};
  EXPECT_TRUE(model_workload(squared, targets).model.has_value());
  EXPECT_THAT(
      trouble([&] { (void)model_workload(squared, numbers()); }, ExitCode::configuration),
      HasSubstr("loss = \"mse\" takes numbers as labels (targets), and data set 'numbers' has classes"));
  const nn::Model classes = nn::Model({1, 1, 2}, 2).linear("out", 2);
  EXPECT_THAT(trouble([&] { (void)model_workload(classes, targets); }, ExitCode::configuration),
              HasSubstr("data set 'heights' has numbers as labels (targets), and the model's loss = "
                        "\"cross_entropy\" takes classes"));
}

TEST(Workload, ActivationsThatAreComputedAgainNeedNoMemory) {
  nn::Model deep({1, 1, 2}, 3);
  for (int i = 0; i < 12; ++i) deep.linear("layer" + std::to_string(i), 256).gelu();
  deep.linear("out", 3);
  const auto bytes = [&](bool recompute) {
    return model_workload(deep, numbers(), {.recompute = recompute}).make_engine()->bytes();
  };
  EXPECT_LT(bytes(true), bytes(false));
}

TEST(Workload, MustMatchTheJob) {
  const Workload workload = model_workload(model(), numbers());
  Job job;
  job.model = "mine", job.data = "numbers";
  job.layout = workload.layout;
  job.layout.slice_size = 4;
  job.train_samples = 60, job.test_samples = 9;
  const auto trouble_with = [&](const Job& it) {
    return trouble([&] { require_same(it, workload); }, ExitCode::protocol);
  };
  EXPECT_EQ(trouble_with(job), "no trouble");
  Job other = job;
  other.train_samples = 61;
  EXPECT_THAT(trouble_with(other),
              HasSubstr("the training set of data set 'numbers' has 60 samples here and 61"));
  other = job;
  other.test_samples = 8;
  EXPECT_THAT(trouble_with(other), HasSubstr("the test set"));
  other = job;
  other.layout.tensors[0].name = "in.weight";
  EXPECT_THAT(trouble_with(other), HasSubstr("the model 'mine' of this program"));
}

}  // namespace
}  // namespace steelyard::workload_test
