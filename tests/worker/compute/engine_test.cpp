// A compute node with engines of all kinds, and with data that fails.

#include <steelyard/engine.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/worker/made_data.h"
#include "tests/worker/mail.h"

namespace steelyard::engine_test {
namespace {

using testing::HasSubstr;

// The process must neither exit nor hang: the worker receives an Interrupt, and failure() returns the reason.
TEST(ComputeNodeFailure, AUsersExceptionIsKeptAndInterruptsTheWorker) {
  Mail mail;
  nn::Model model({1, 1, 2}, 3);
  model.linear("out", 3);
  Job job;
  job.layout = model.layout();
  job.layout.slice_size = 50;
  const auto data = std::make_shared<SpoiltData>(40, 33, true);
  ComputeNode node(post_to(mail), model_workload(model, {data, data, "ours"}), job);
  auto parameters = std::make_shared<FloatBuffer>(model.parameters());
  model.initialize(parameters->span(), 1);
  node.give(Compute{{.purpose = Purpose::evaluate, .positions = {0, 40}},
                    Blob::of_floats(parameters, parameters->span())});
  std::optional<ToWorker> message = mail.pop();
  while (message && std::holds_alternative<ComputeProgress>(*message)) message = mail.pop();
  ASSERT_TRUE(message);
  const auto* interrupt = std::get_if<Interrupt>(&*message);
  ASSERT_NE(interrupt, nullptr);
  ASSERT_TRUE(node.failure());
  EXPECT_EQ(interrupt->failure, node.failure()->what());
  EXPECT_THAT(node.failure()->what(), HasSubstr("data set 'ours', test sample 33: it threw an exception"));
}

// Sums its samples. Never reports final ranges; or, if `hasty`, reports them while samples are still to come.
// (With the last samples in hand the report is accepted, since it may be right.)
class PlainEngine final : public Engine {
 public:
  explicit PlainEngine(bool hasty) : hasty_(hasty) {}
  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override {
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    nn::Sums sums;
    while (const nn::MicroBatch* batch = samples.next()) {
      if (hasty_ && !samples.at_end()) on_final(0, gradient.size());
      for (std::uint32_t i = 0; i < batch->count; ++i) gradient[0] += batch->inputs[2 * i] + parameters[0];
      sums.correct += batch->count;
      sizes.push_back(batch->size);
    }
    return sums;
  }
  nn::Sums evaluate(std::span<const float>, Samples& samples) override {
    (void)samples.next();  // and no more: sums over a part of the piece must not be reported
    return {};
  }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return {10, 3, 1}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }
  std::optional<double> take_share() override { return 0.5; }

  std::vector<std::uint32_t> sizes;

 private:
  const bool hasty_;
};

TEST(ComputeNodeEngines, UserEnginesGetTheirOwnMicroBatchSizes) {
  for (const bool hasty : {false, true}) {
    Mail mail;
    Job job;
    append(job.layout, "w", {7});
    job.layout.slice_size = 3;
    Workload workload{.layout = job.layout, .data = {std::make_shared<NumberedData>(60), nullptr, "numbers"}};
    workload.layout.slice_size = 0;
    PlainEngine* engine = nullptr;
    workload.make_engine = [&] {
      auto made = std::make_unique<PlainEngine>(hasty);
      engine = made.get();
      return made;
    };
    ComputeNode node(post_to(mail), workload, job);
    auto parameters = std::make_shared<FloatBuffer>(7);
    parameters->span()[0] = 0.5F;
    node.give(Compute{{.id = 2, .round = 1, .positions = {0, 60}},
                      Blob::of_floats(parameters, parameters->span())});
    float sum = 0;
    for (const std::uint32_t slice : {2U, 1U, 0U}) {
      const GradientReady final = std::get<GradientReady>(mail.pop().value());
      EXPECT_EQ(final.slice, slice);
      if (slice == 0) sum = final.values.floats()[0];
    }
    EXPECT_EQ(sum, 59 * 60 / 2 + 60 * 0.5F) << "every sample once, and nothing posted before the end";
    const Report report = std::get<Computed>(mail.pop().value()).report;
    EXPECT_EQ(report.correct, 60U);
    EXPECT_LE(report.cpu, 0.5) << "the engine's share takes precedence over the machine's";
    EXPECT_EQ(engine->sizes, (std::vector<std::uint32_t>(6, 10)));
    node.give(Compute{{.id = 3, .round = 2, .positions = {0, 13}},
                      Blob::of_floats(parameters, parameters->span())});
    for (int slice = 0; slice < 3; ++slice)
      EXPECT_TRUE(std::holds_alternative<GradientReady>(mail.pop().value()));
    EXPECT_EQ(std::get<Computed>(mail.pop().value()).report.piece.id, 3U);
    EXPECT_EQ(engine->sizes.back(), 3U) << "the smallest that holds the rest";
  }
}

// Computes on another device.
class FarEngine final : public Engine {
 public:
  explicit FarEngine(DeviceReading reading) : reading_(reading) {}

  nn::Sums train(std::span<const float>, Samples&, std::span<float>, const FinalRange&) override {
    return {};
  }
  nn::Sums evaluate(std::span<const float>, Samples& samples) override {
    while (samples.next() != nullptr) {
    }
    return {};
  }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return {1}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }
  [[nodiscard]] WorkPlace work_place() const override { return WorkPlace::other_device; }
  DeviceReading read_device() override { return reading_; }

 private:
  const DeviceReading reading_;
};

std::vector<Report> reports_from(DeviceReading reading) {
  std::vector<Report> reports;
  Mail mail;
  Job job;
  append(job.layout, "w", {1});
  const auto data = std::make_shared<NumberedData>(60);
  Workload workload{.layout = job.layout, .data = {data, data, "numbers"}};
  job.layout.slice_size = 1;
  workload.make_engine = [=] { return std::make_unique<FarEngine>(reading); };
  ComputeNode node(post_to(mail), workload, job);
  const auto parameters = std::make_shared<FloatBuffer>(1);
  for (PieceId piece = 1; piece <= 3; ++piece) {
    node.give(Compute{{.id = piece, .round = 1, .purpose = Purpose::evaluate, .positions = {0, 60}},
                      Blob::of_floats(parameters, parameters->span())});
    std::optional<ToWorker> message = mail.pop();
    while (message && !std::holds_alternative<Computed>(*message)) message = mail.pop();
    reports.push_back(std::get<Computed>(message.value()).report);
  }
  return reports;
}

TEST(ComputeNodeEngines, TheCpuShareIsUnknownForOtherDevices) {
  for (const Report& report : reports_from({})) {
    EXPECT_EQ(report.cpu, -1);
    EXPECT_EQ(report.now.cpu, -1);
    EXPECT_GE(report.now.memory, 0) << "of the machine, as that of the device is unknown";
  }
}

TEST(ComputeNodeEngines, ADeviceThatCanBeReadReportsItsOwnShareAndMemory) {
  for (const Report& report : reports_from({.share = 0.25, .memory_mb = 5000})) {
    EXPECT_EQ(report.cpu, 0.25);
    EXPECT_EQ(report.now.cpu, 0.25);
    EXPECT_EQ(report.now.memory, 5000);
  }
}

}  // namespace
}  // namespace steelyard::engine_test
