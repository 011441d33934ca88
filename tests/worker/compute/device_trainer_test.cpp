// Training with parameters on the device, and the gradient left there: the bits of training with both on the
// host.
#include "worker/compute/device_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "nn/cuda/device_values.h"
#include "nn/models.h"
#include "protocol/sliced_values.h"
#include "tests/worker/made_data.h"
#include "tests/worker/made_samples.h"
#include "tests/worker/mail.h"
#include "worker/compute/engines.h"
#include "worker/compute/throttle.h"

namespace steelyard::device_trainer_test {
namespace {

using nn::cuda::CudaValues;
using nn::cuda::DevicePool;
using nn::cuda::Stream;
constexpr Device host_cuda{Device::Type::host_cuda};

std::vector<float> floats(std::span<const float> it) { return {it.begin(), it.end()}; }

nn::Model perceptron() {
  nn::Model model({1, 1, 2}, 3);
  model.linear("a", 5);
  model.relu();
  model.linear("b", 3);
  return model;
}

// A version of which the slices with even numbers are on the device, where they may not have arrived yet.
class Version {
 public:
  Version(const std::vector<float>& values, const std::vector<Slice>& slices) {
    nn::cuda::use_device(0);
    SlicedValues::Parts parts;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const std::span its = std::span(values).subspan(slices[i].begin, slices[i].size());
      parts.emplace_back(slices[i], i % 2 == 0 ? there(its) : Blob::copy_of(its));
    }
    blob_ = Blob(std::make_shared<SlicedValues>(std::move(parts), values.size()));
  }
  [[nodiscard]] const Blob& blob() const { return blob_; }

 private:
  Blob there(std::span<const float> values) {
    auto& source = sources_.emplace_back(std::make_unique<nn::cuda::PinnedArray<float>>(values.size()));
    std::ranges::copy(values, source->data());
    auto buffer = DevicePool(values.size()).take(stream_);
    stream_.copy_array(buffer->values().data(), source->data(), values.size());
    buffer->written(stream_);
    return Blob(std::make_shared<CudaValues>(0, buffer, buffer->values()));
  }
  std::vector<std::unique_ptr<nn::cuda::PinnedArray<float>>> sources_;
  Stream stream_;
  Blob blob_;
};

class DeviceTraining : public testing::Test {
 protected:
  void SetUp() override {
    if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
    layout.slice_size = 7;
    slices = steelyard::slices(layout);
    model.initialize(parameters, 1);
    engine = make_cuda_engine(model, host_cuda, Precision::float32);
  }

  const nn::Model model = perceptron();
  Layout layout = model.layout();
  std::vector<Slice> slices;
  std::vector<float> parameters = std::vector<float>(model.parameters());
  std::unique_ptr<Engine> engine;
};

TEST_F(DeviceTraining, HasTheBitsOfTrainingOnTheHost) {
  DeviceTrainer* const trainer = engine->device_trainer();
  ASSERT_NE(trainer, nullptr);
  const Version version(parameters, slices);
  EXPECT_TRUE(trainer->has_here(version.blob()));
  EXPECT_FALSE(trainer->has_here(Blob::copy_of(parameters)));
  // Twice each: the second time as a graph. Full and padded micro-batches.
  for (const std::uint32_t samples : {64, 96, 64, 96}) {
    std::vector<float> on_host(parameters.size()), there(parameters.size());
    MadeSamples for_host(model, samples, 32), for_device(model, samples, 32), again(model, samples, 32);
    const nn::Sums expected = engine->train(parameters, for_host, on_host, {});
    const nn::Sums sums = trainer->train_there(
        version.blob(), for_device, {slices, std::make_shared<FlatPool>(Memory::own), [&](auto values) {
                                       ASSERT_EQ(values.size(), slices.size());
                                       for (std::size_t i = 0; i < slices.size(); ++i)
                                         std::ranges::copy(
                                             values[i]->on_host().values,
                                             there.begin() + static_cast<std::ptrdiff_t>(slices[i].begin));
                                     }});
    EXPECT_EQ(there, on_host) << samples;
    EXPECT_EQ(sums.loss, expected.loss);
    EXPECT_EQ(sums.correct, expected.correct);
    MadeSamples evaluated(model, samples, 32);
    EXPECT_EQ(trainer->evaluate_there(version.blob(), again).loss,
              engine->evaluate(parameters, evaluated).loss);
  }
}

// The gradients of earlier pieces stay as they are, although later ones are computed at the same place.
TEST_F(DeviceTraining, AGradientStaysWhileLaterOnesAreComputed) {
  const Version version(parameters, slices);
  std::vector<std::vector<std::shared_ptr<const DeviceValues>>> kept;
  std::vector<std::vector<float>> expected;
  for (const std::uint32_t samples : {8, 16, 24}) {
    MadeSamples for_host(model, samples), for_device(model, samples);
    std::vector<float> gradient(parameters.size());
    engine->train(parameters, for_host, gradient, {});
    expected.push_back(gradient);
    engine->device_trainer()->train_there(version.blob(), for_device, {slices, nullptr, [&](auto values) {
                                                                         kept.push_back(std::move(values));
                                                                       }});
  }
  for (std::size_t piece = 0; piece < kept.size(); ++piece) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
      EXPECT_EQ(floats(kept[piece][i]->on_host().values),
                floats(std::span(expected[piece]).subspan(slices[i].begin, slices[i].size())));
    }
  }
}

TEST_F(DeviceTraining, AThrottledEngineTrainsOnTheHost) {
  EXPECT_EQ(ThrottledEngine(std::move(engine), {}).device_trainer(), nullptr);
}

// A compute node sends what is on the device, in the same messages and with the same values.
TEST_F(DeviceTraining, TheGradientsOfAComputeNodeStayOnTheDevice) {
  Job job;
  job.layout = layout;
  const auto data = std::make_shared<NumberedData>(60);
  Workload workload = model_workload(model, {data, data, "numbers"});
  workload.make_engine = [this] { return make_cuda_engine(model, host_cuda, Precision::float32); };
  Mail mail;
  ComputeNode node(post_to(mail), workload, job);
  const Version version(parameters, slices);
  std::vector<GradientReady> finals[2];
  std::vector<Report> reports;
  for (const Blob& blob : {Blob::copy_of(parameters), version.blob()}) {
    const std::size_t turn = reports.size();
    node.give(Compute{{.id = 2, .round = 1, .positions = {0, 60}}, blob});
    while (reports.size() == turn) {
      const ToWorker message = mail.pop().value();
      if (const auto* final = std::get_if<GradientReady>(&message)) finals[turn].push_back(*final);
      if (const auto* done = std::get_if<Computed>(&message)) reports.push_back(done->report);
    }
    std::ranges::sort(finals[turn], {}, &GradientReady::slice);
  }
  ASSERT_EQ(finals[0].size(), slices.size());
  ASSERT_EQ(finals[1].size(), slices.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    EXPECT_EQ(finals[0][i].values.device(), nullptr);
    EXPECT_NE(finals[1][i].values.device(), nullptr);
    EXPECT_EQ(finals[1][i].piece_id, finals[0][i].piece_id);
    EXPECT_EQ(floats(finals[1][i].values.floats()), floats(finals[0][i].values.floats()));
  }
  EXPECT_EQ(reports[1].loss, reports[0].loss);
  EXPECT_EQ(reports[1].correct, reports[0].correct);
  node.give(Compute{{.id = 3, .purpose = Purpose::evaluate, .positions = {0, 60}}, version.blob()});
  while (reports.size() == 2) {
    const ToWorker message = mail.pop().value();
    if (const auto* done = std::get_if<Computed>(&message)) reports.push_back(done->report);
  }
  EXPECT_EQ(reports[2].loss, reports[0].loss);
}

}  // namespace
}  // namespace steelyard::device_trainer_test
