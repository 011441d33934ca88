#include "worker/compute/checked_engine.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/processor.h"
#include "nn/cuda_devices.h"
#include "nn/models.h"
#include "tests/worker/kept_pictures.h"
#include "tests/worker/made_samples.h"
#include "worker/compute/engines.h"
#include "worker/compute/kept_feed.h"
#include "worker/compute/throttle.h"

namespace steelyard::checked_engine_test {
namespace {

using ::testing::HasSubstr;

// A device that multiplies its gradient by `factor`.
class LyingEngine final : public Engine {
 public:
  LyingEngine(const nn::Model& model, float by) : engine_(model), factor(by) {}

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override {
    ++calls;
    const nn::Sums sums = engine_.train(parameters, samples, gradient, on_final);
    for (float& value : gradient) value *= factor;
    return sums;
  }
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override {
    return engine_.evaluate(parameters, samples);
  }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override {
    return engine_.micro_batch_sizes();
  }
  [[nodiscard]] std::uint64_t bytes() const override { return engine_.bytes(); }

 private:
  CpuEngine engine_;

 public:
  float factor;
  int calls = 0;
};

// One piece of a feed.
class FromFeed final : public Samples {
 public:
  FromFeed(SampleFeed& feed, Interval positions)
      : feed_(feed), request_(feed.request({.positions = positions})), left_(positions.size()) {}
  const nn::MicroBatch* next() override {
    const nn::MicroBatch* const batch = left_ > 0 ? feed_.next(request_) : nullptr;
    if (batch != nullptr) left_ -= batch->count;
    return batch;
  }
  [[nodiscard]] bool at_end() const override { return left_ == 0; }

 private:
  SampleFeed& feed_;
  const std::shared_ptr<FeedRequest> request_;
  std::uint64_t left_;
};

nn::Model perceptron() { return nn::Model({1, 1, 20}, 5).linear("a", 30).relu().linear("b", 5); }

struct Checked {
  nn::Model model = perceptron();
  LyingEngine* device;  // which the engine owns
  CheckedEngine engine;
  std::vector<float> parameters = std::vector<float>(model.parameters());

  explicit Checked(float factor, Precision precision = Precision::float32)
      : Checked(std::make_unique<LyingEngine>(perceptron(), factor), precision) {}
  Checked(std::unique_ptr<LyingEngine> made, Precision precision)
      : device(made.get()), engine(std::move(made), model, precision, "cuda:1", [] { return Time{}; }) {
    model.initialize(parameters, 1);
  }

  std::vector<float> train(std::uint32_t samples = 16) {
    MadeSamples made(model, samples);
    std::vector<float> gradient(parameters.size());
    engine.train(parameters, made, gradient, {});
    return gradient;
  }
  // Keeps samples in the first piece and compares them in the second.
  void check() {
    train();
    train();
    engine.settle();
  }
};

TEST(CheckedEngine, TheCheckDoesNotChangeTheResult) {
  Checked checked(1);
  CpuEngine alone(checked.model);
  MadeSamples made(checked.model, 40);
  std::vector<float> expected(checked.parameters.size());
  alone.train(checked.parameters, made, expected, {});
  EXPECT_EQ(checked.train(40), expected) << "in a checked piece";
  EXPECT_EQ(checked.train(40), expected) << "in an unchecked piece";
}

// The device computes the samples of piece 0 when piece 1 begins, and those of piece 1,024 in 1,025.
TEST(CheckedEngine, ChecksTheFirstPieceAndOneIn1024) {
  Checked checked(1);
  checked.check();
  EXPECT_EQ(checked.device->calls, 3);
  for (int i = 2; i <= 1024; ++i) checked.train();
  EXPECT_EQ(checked.device->calls, 1026);
  checked.train();
  EXPECT_EQ(checked.device->calls, 1028);
}

// Reading the first micro-batch starts the clock of a piece: the device's part of a check comes before.
TEST(CheckedEngine, TheTimeOfAPieceDoesNotIncludeTheCheck) {
  struct Watched final : Samples {
    Watched(const nn::Model& model, const LyingEngine& of) : samples(model, 16), device(of) {}
    const nn::MicroBatch* next() override {
      calls_before.push_back(device.calls);
      return samples.next();
    }
    [[nodiscard]] bool at_end() const override { return samples.at_end(); }
    MadeSamples samples;
    const LyingEngine& device;
    std::vector<int> calls_before;
  };
  Checked checked(1);
  checked.train();
  Watched watched(checked.model, *checked.device);
  std::vector<float> gradient(checked.parameters.size());
  checked.engine.train(checked.parameters, watched, gradient, {});
  EXPECT_EQ(watched.calls_before.front(), 2) << "the check's call is over";
  EXPECT_EQ(checked.device->calls, 3);
}

// The samples of a micro-batch are gone by the time that they are compared.
TEST(CheckedEngine, SamplesAreCopied) {
  Checked checked(1.01F);
  {
    MadeSamples made(checked.model, 16);
    std::vector<float> gradient(checked.parameters.size());
    checked.engine.train(checked.parameters, made, gradient, {});
  }
  checked.train();
  checked.engine.settle();
  checked.train();
  checked.train();
  EXPECT_THROW(checked.engine.settle(), Failure);
}

TEST(CheckedEngine, TwoErrorsInARowEndTheWorker) {
  Checked checked(1.01F);
  checked.check();
  try {
    checked.check();
    FAIL() << "one percent off was not noticed";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("the gradients of cuda:1 differ by 1 % from the processor's"));
    EXPECT_THAT(failure.what(), HasSubstr("rounding to float32 explains 0.1 %"));
  }
}

// Without settle(): a later piece finds the result.
TEST(CheckedEngine, TheErrorEndsTheTrainingByItself) {
  Checked checked(1.01F);
  EXPECT_THROW(
      {
        for (;;) checked.train();
      },
      Failure);
}

TEST(CheckedEngine, OneErrorIsIgnored) {
  Checked checked(1.01F);
  checked.check();
  checked.device->factor = 1;
  for (int i = 0; i < 3; ++i) checked.check();
}

TEST(CheckedEngine, NonFiniteGradientsAreNoticed) {
  Checked checked(NAN);
  checked.check();
  EXPECT_THROW(checked.check(), Failure);
}

TEST(CheckedEngine, DivergedParametersAreNoErrorOfTheDevice) {
  Checked checked(1);
  checked.parameters[3] = NAN;
  for (int i = 0; i < 3; ++i) checked.check();
}

TEST(CheckedEngine, AComparisonThatRunsEndsWithTheEngine) {
  Checked checked(1);
  checked.train();
  checked.train();  // and no settle()
}

TEST(CheckedEngine, CoarserPrecisionMayDifferMore) {
  Checked tf32(1.008F, Precision::tf32), bf16(1.04F, Precision::bf16), too_much(1.2F, Precision::bf16);
  for (int i = 0; i < 3; ++i) tf32.check();
  for (int i = 0; i < 3; ++i) bf16.check();
  too_much.check();
  EXPECT_THROW(too_much.check(), Failure);
}

// For the log, through all engines that wrap the device's.
TEST(CheckedEngine, DescribesWhatComputes) {
  if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
  ThrottledEngine engine(make_cuda_engine(perceptron(), {Device::Type::host_cuda}, Precision::float32), {});
  EXPECT_THAT(engine.description(),
              HasSubstr("micro-batches of up to 256 samples; cuda with bias: relu2; tiled: a, b"));
}

// A data set whose numbers can change afterwards, as those that a device keeps do if its memory is broken.
class ChangingData final : public BytePictures {
 public:
  using BytePictures::BytePictures;
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    BytePictures::read(index, into, labels);
    if (changed) into[7] += 1;
  }
  bool changed = false;
};

// Samples that the device keeps are compared with what the processor reads.
TEST(CheckedEngine, ChecksTheSamplesThatADeviceKeeps) {
  if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
  const nn::Model model = nn::Model({6, 6, 3}, 4).linear("out", 4);
  std::vector<float> parameters(model.parameters()), gradient(parameters.size());
  model.initialize(parameters, 1);
  for (const bool changes : {false, true}) {
    const auto data = std::make_shared<ChangingData>(40);
    const DataSets sets{data, data, "pictures"};
    CheckedEngine engine(make_cuda_engine(model, {Device::Type::host_cuda}, Precision::float32, 0, sets),
                         model, Precision::float32, "a device", [] { return Time{}; });
    ASSERT_NE(engine.kept_data(), nullptr);
    data->changed = changes;
    KeptFeed feed(*engine.kept_data(), sets, 1, engine.micro_batch_sizes());
    const auto check_twice = [&] {
      for (int piece = 0; piece < 4; ++piece) {
        FromFeed samples(feed, {0, 40});
        engine.train(parameters, samples, gradient, {});
        if (piece > 0) engine.settle();
      }
    };
    if (changes) {
      EXPECT_THROW(check_twice(), Failure);
    } else {
      check_twice();
    }
  }
}

// Correct devices stay within the bounds: float32 by other kernels, and products in bf16.
class Right : public testing::TestWithParam<const char*> {};

nn::Model model_named(const std::string& name) {
  if (name == "transformer") return nn::make_model(name, {{1, 6, 1}, 3, {}});
  const std::uint32_t side = name == "lenet5" ? 28 : name == "mlp" ? 4 : 8;
  return nn::make_model(name, {{side, side, name == "lenet5" ? 1U : 3U}, 3, {}});
}

void expect_right(std::unique_ptr<Engine> device, const nn::Model& model, Precision precision) {
  CheckedEngine engine(std::move(device), model, precision, "a device");
  std::vector<float> parameters(model.parameters()), gradient(parameters.size());
  model.initialize(parameters, 1);
  for (int i = 0; i < 4; ++i) {
    MadeSamples made(model, 32, 32);
    engine.train(parameters, made, gradient, {});
    engine.settle();
  }
}

TEST_P(Right, Bf16IsWithinItsBounds) {
  if (!cpu_has_bf16()) GTEST_SKIP() << "this processor does not multiply bf16";
  const nn::Model model = model_named(GetParam());
  nn::Model short_model = model;
  short_model.multiply_in(Precision::bf16);
  expect_right(std::make_unique<CpuEngine>(short_model), model, Precision::bf16);
}

TEST_P(Right, TheHostExecutorIsWithinItsBounds) {
  if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
  const nn::Model model = model_named(GetParam());
  if (model.parameters() > 500'000) GTEST_SKIP() << "too slow on fibers";
  expect_right(make_cuda_engine(model, {Device::Type::host_cuda}, Precision::float32), model,
               Precision::float32);
}

INSTANTIATE_TEST_SUITE_P(Models, Right, testing::Values("mlp", "lenet5", "resnet20", "vit", "transformer"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace steelyard::checked_engine_test
