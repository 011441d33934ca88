// Local steps on a device, compared bit for bit with those that the worker makes on the host with the same
// device's gradients.
#include "worker/compute/piece_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "nn/cuda_devices.h"
#include "tests/worker/mail.h"
#include "worker/compute/engines.h"
#include "worker/compute/workload.h"
#include "worker/data/sets/synthetic.h"

namespace steelyard::piece_steps_test {
namespace {

constexpr std::uint64_t samples = 240;

// An engine whose steps are made by this trainer instead of its own; null: by the worker.
class WithSteps final : public Engine {
 public:
  WithSteps(std::unique_ptr<Engine> engine, LocalTrainer* trainer)
      : engine_(std::move(engine)), trainer_(trainer) {}
  nn::Sums train(std::span<const float> parameters, Samples& of, std::span<float> gradient,
                 const FinalRange& on_final) override {
    return engine_->train(parameters, of, gradient, on_final);
  }
  nn::Sums evaluate(std::span<const float> parameters, Samples& of) override {
    return engine_->evaluate(parameters, of);
  }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override {
    return engine_->micro_batch_sizes();
  }
  [[nodiscard]] std::uint64_t bytes() const override { return engine_->bytes(); }
  [[nodiscard]] LocalTrainer* local_trainer() override { return trainer_; }

 private:
  const std::unique_ptr<Engine> engine_;
  LocalTrainer* const trainer_;
};

struct Answer {
  std::vector<float> moved;
  Report report;
};

struct PieceStepsTest : testing::Test {
  void SetUp() override {
    if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
    job.layout = model.layout();
    job.layout.slice_size = 100;
    job.train_samples = samples;
    job.grain = model.grain();
    job.sync = parse_sync("local:3");
    job.optimizer = {nn::Optimizer::Kind::momentum, 0.9, 0.01};
    job.schedule.kind = nn::Schedule::Kind::cosine;
    job.schedule.base = 0.1;
    job.schedule.epochs = 2;
    data.train = data.test = std::make_shared<const SyntheticDataSet>(
        SyntheticOptions{.samples = samples, .classes = 4, .shape = {8, 8, 1}});
  }

  // Two pieces of two passes and three steps each; the last step of a piece is smaller.
  [[nodiscard]] std::vector<Answer> answers(bool steps_there) const {
    Workload workload = model_workload(model, data, {});
    workload.make_engine = [&]() -> std::unique_ptr<Engine> {
      auto engine = make_cuda_engine(model, {Device::Type::host_cuda, 0}, Precision::float32);
      EXPECT_NE(engine->local_trainer(), nullptr);
      if (steps_there && !unable) return engine;
      return std::make_unique<WithSteps>(std::move(engine), steps_there ? unable.get() : nullptr);
    };
    Mail mail;
    ComputeNode node(post_to(mail), std::move(workload), job);
    std::vector<Answer> all;
    for (const Interval positions : {Interval{0, 80}, Interval{80, 176}}) {
      auto parameters = std::make_shared<FloatBuffer>(model.parameters());
      model.initialize(parameters->span(), positions.begin + 1);
      Piece piece{1, positions.begin, Purpose::train, 0, positions, {0, samples}, {3, 2}};
      node.give(Compute{piece, Blob::of_floats(parameters, parameters->span())});
      all.push_back(answer(mail));
    }
    return all;
  }
  [[nodiscard]] Answer answer(Mail& mail) const {
    Answer answer{std::vector<float>(model.parameters(), NAN), {}};
    const std::vector<Slice> all = slices(job.layout);
    while (true) {
      const ToWorker message = mail.pop().value();
      if (const auto* computed = std::get_if<Computed>(&message)) {
        answer.report = computed->report;
        return answer;
      }
      if (const auto* ready = std::get_if<GradientReady>(&message)) {
        const auto values = ready->values.floats();
        std::ranges::copy(values,
                          answer.moved.begin() + static_cast<std::ptrdiff_t>(all[ready->slice].begin));
      }
    }
  }
  void expect_same() const {
    const std::vector<Answer> here = answers(false), there = answers(true);
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(there[i].moved, here[i].moved) << "piece " << i;
      EXPECT_EQ(there[i].report.loss, here[i].report.loss);
      EXPECT_EQ(there[i].report.correct, here[i].report.correct);
      EXPECT_EQ(there[i].report.weight, here[i].report.weight);
    }
  }

  nn::Model model = nn::Model({8, 8, 1}, 4)
                        .conv2d("c", {.channels = 4, .kernel = 3})
                        .batch_norm("n")
                        .relu()
                        .linear("out", 4);
  DataSets data;
  Job job;
  std::shared_ptr<LocalTrainer> unable;  // in place of the engine's
};

TEST_F(PieceStepsTest, StepsOnTheDeviceHaveTheBitsOfStepsOnTheHost) { expect_same(); }

TEST_F(PieceStepsTest, WithNesterovAndEqualWeights) {
  job.sync = parse_sync("local:3:equal");
  job.optimizer.kind = nn::Optimizer::Kind::nesterov;
  expect_same();
}

// The norm of a gradient is computed where the step is made. Some steps are clipped, others are not.
TEST_F(PieceStepsTest, WithClippedSteps) {
  for (const double norm : {0.01, 1.0, 2.0}) {
    job.clip_norm = norm;
    expect_same();
  }
  job.clip_norm = 0;
  const std::vector<Answer> free = answers(true);
  job.clip_norm = 0.01;
  EXPECT_NE(answers(true)[0].moved, free[0].moved);
}

// A device may lack memory for the steps.
TEST_F(PieceStepsTest, WhatTheDeviceCannotDoTheHostDoes) {
  struct Unable final : LocalTrainer {
    bool begin(std::span<const float>, std::span<float>) override { return false; }
    nn::Sums train(Samples&) override { return {}; }
    double sum_of_squares(std::span<const Interval>) override { return 0; }
    void step(std::span<const nn::LocalRange>, bool) override {}
    void finish(std::span<float>, const FinalRange&) override {}
    void end() override { ADD_FAILURE() << "it was not begun"; }
  };
  unable = std::make_shared<Unable>();
  expect_same();
}

}  // namespace
}  // namespace steelyard::piece_steps_test
