#include "worker/compute/parallel_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>

#include "core/interval.h"
#include "tests/worker/made_samples.h"
#include "worker/compute/engines.h"

namespace steelyard::parallel_engine_test {
namespace {

nn::Model perceptron() { return nn::Model({1, 1, 20}, 5).linear("a", 30).relu().linear("b", 5); }

ParallelEngine parallel(const nn::Model& model, std::size_t threads) {
  std::vector<std::unique_ptr<Engine>> engines;
  for (std::size_t i = 0; i < threads; ++i) engines.push_back(std::make_unique<CpuEngine>(model));
  return {std::move(engines),
          {model.input().size(), model.labels(), takes_targets(model.loss()) ? model.classes() : 0}};
}

struct Result {
  nn::Sums sums;
  std::vector<float> gradient;
};

Result train(Engine& engine, const nn::Model& model, std::uint32_t samples) {
  std::vector<float> parameters(model.parameters());
  model.initialize(parameters, 1);
  Result result{{}, std::vector<float>(parameters.size(), NAN)};
  MadeSamples made(model, samples);
  IntervalSet finals;
  result.sums = engine.train(parameters, made, result.gradient, [&](std::uint64_t begin, std::uint64_t end) {
    EXPECT_TRUE(finals.add_if_absent({begin, end})) << "final twice";
  });
  EXPECT_EQ(finals.count(), parameters.size()) << "all of it is final";
  return result;
}

TEST(ParallelEngine, GivesTheSameAsOneThread) {
  const nn::Model model = perceptron();
  for (const std::uint32_t samples : {8U, 16U, 40U, 200U}) {
    CpuEngine alone(model);
    const Result expected = train(alone, model, samples);
    for (const std::size_t threads : {1U, 2U, 3U, 7U}) {
      SCOPED_TRACE(testing::Message() << samples << " samples, " << threads << " threads");
      ParallelEngine engine = parallel(model, threads);
      for (int again = 0; again < 3; ++again) {
        const Result result = train(engine, model, samples);
        EXPECT_NEAR(result.sums.loss, expected.sums.loss, 1e-4 * expected.sums.loss);
        EXPECT_EQ(result.sums.correct, expected.sums.correct);
        for (std::size_t i = 0; i < result.gradient.size(); ++i) {
          ASSERT_NEAR(result.gradient[i], expected.gradient[i], 1e-4) << i;
        }
      }
    }
  }
}

TEST(ParallelEngine, CopiesTargets) {
  const nn::Model model = nn::Model({1, 1, 20}, 2, nn::Loss::mean_squared_error).linear("a", 2);
  CpuEngine alone(model);
  ParallelEngine engine = parallel(model, 3);
  const Result expected = train(alone, model, 40), result = train(engine, model, 40);
  EXPECT_NEAR(result.sums.loss, expected.sums.loss, 1e-4 * expected.sums.loss);
  EXPECT_EQ(result.sums.correct, nn::Sums::uncounted);
  for (std::size_t i = 0; i < result.gradient.size(); ++i)
    ASSERT_NEAR(result.gradient[i], expected.gradient[i], 1e-4) << i;
}

TEST(ParallelEngine, EqualPiecesGiveEqualBits) {
  const nn::Model model = perceptron();
  ParallelEngine first = parallel(model, 3), second = parallel(model, 3);
  const Result expected = train(first, model, 200);
  for (int again = 0; again < 20; ++again) EXPECT_EQ(train(second, model, 200).gradient, expected.gradient);
}

TEST(ParallelEngine, Evaluates) {
  const nn::Model model = perceptron();
  std::vector<float> parameters(model.parameters());
  model.initialize(parameters, 1);
  CpuEngine alone(model);
  ParallelEngine engine = parallel(model, 3);
  MadeSamples one(model, 80), other(model, 80);
  const nn::Sums expected = alone.evaluate(parameters, one), sums = engine.evaluate(parameters, other);
  EXPECT_NEAR(sums.loss, expected.loss, 1e-4 * expected.loss);
  EXPECT_EQ(sums.correct, expected.correct);
}

TEST(ParallelEngine, EndsWhenSamplesCannotBeRead) {
  const nn::Model model = perceptron();
  ParallelEngine engine = parallel(model, 2);
  std::vector<float> parameters(model.parameters()), gradient(model.parameters());
  MadeSamples made(model, 80);
  made.thrown_at = 32;
  EXPECT_THROW(engine.train(parameters, made, gradient, nullptr), std::runtime_error);
  train(engine, model, 80);  // it can still compute
}

// Neither the source of samples nor the receiver of final ranges needs a mutex.
TEST(ParallelEngine, CallsNextAndFinalRangeOneAtATime) {
  const nn::Model model = perceptron();
  std::atomic<int> inside = 0;
  struct Watched final : Samples {
    Watched(const nn::Model& of, std::atomic<int>& busy) : made(of, 400), inside(busy) {}
    const nn::MicroBatch* next() override {
      EXPECT_EQ(inside++, 0);
      const nn::MicroBatch* batch = made.next();
      --inside;
      return batch;
    }
    [[nodiscard]] bool at_end() const override { return made.at_end(); }
    MadeSamples made;
    std::atomic<int>& inside;
  } samples(model, inside);
  ParallelEngine engine = parallel(model, 4);
  std::vector<float> parameters(model.parameters()), gradient(model.parameters());
  engine.train(parameters, samples, gradient, [&](std::uint64_t, std::uint64_t) {
    EXPECT_EQ(inside++, 0);
    --inside;
  });
}

class FailingEngine final : public Engine {
 public:
  nn::Sums train(std::span<const float>, Samples& samples, std::span<float>, const FinalRange&) override {
    (void)samples.next();
    throw std::runtime_error("cannot compute");
  }
  nn::Sums evaluate(std::span<const float>, Samples&) override { return {}; }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return {8, 1}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }
};

TEST(ParallelEngine, EndsWhenAnEngineFails) {
  const nn::Model model = perceptron();
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(std::make_unique<CpuEngine>(model));
  engines.push_back(std::make_unique<FailingEngine>());
  ParallelEngine engine(std::move(engines), {model.input().size(), 1});
  std::vector<float> parameters(model.parameters()), gradient(model.parameters());
  MadeSamples made(model, 400);
  EXPECT_THROW(engine.train(parameters, made, gradient, nullptr), std::runtime_error);
}

}  // namespace
}  // namespace steelyard::parallel_engine_test
