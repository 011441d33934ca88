#include "nn/recomputation.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "nn/models.h"
#include "nn/network.h"
#include "nn/step_calls.h"
#include "tests/nn/network_models.h"

namespace steelyard::nn::recomputation_test {
namespace {

Model recomputing(Model model) { return model.recompute_activations(); }
Model halved(Model model) { return model.multiply_in(Precision::bf16); }

struct Result {
  std::vector<float> gradient;
  Sums sums, evaluated;
};

// Two micro-batches, the second one with padding, if the model's batch norms allow it.
Result result_of(const Model& model, const std::vector<float>& parameters, Backend backend) {
  Network network(model, backend);
  const std::uint32_t size = std::min(model.micro_batch(), model.grain() > 1 ? model.grain() : 8);
  const std::uint32_t rest = model.grain() > 1 || size == 1 ? size : size - 1;
  const Data data(model, 2 * size, 4);
  Result it{std::vector<float>(parameters.size()), {}, {}};
  it.sums = network.train(parameters, data.batch(0, size, size), it.gradient, false, nullptr);
  it.sums += network.train(parameters, data.batch(size, size, rest), it.gradient, true, nullptr);
  it.evaluated = network.evaluate(parameters, data.batch(0, size, size));
  return it;
}

void expect_equal_bits(const Model& model, Backend backend = Backend::cpu) {
  const std::vector<float> parameters = initial(model);
  const Result kept = result_of(model, parameters, backend);
  const Result again = result_of(recomputing(model), parameters, backend);
  EXPECT_EQ(again.gradient, kept.gradient);
  EXPECT_EQ(again.sums, kept.sums);
  EXPECT_EQ(again.evaluated, kept.evaluated);
}

std::size_t computed_again(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(plan.backward, &BackwardCall::again));
}

std::vector<std::pair<std::string, Model>> all_models() {
  auto all = models();
  for (auto& one : models_with_grains()) all.push_back(std::move(one));
  return all;
}

TEST(Recomputation, GradientsHaveTheSameBits) {
  for (const auto& [name, model] : all_models()) {
    SCOPED_TRACE(name);
    for (const Backend backend : {Backend::reference, Backend::cpu}) expect_equal_bits(model, backend);
    expect_equal_bits(halved(model));  // in float32 if the processor does not multiply bf16
  }
}

// The gradient of a full micro-batch by this plan; that of the scores is made from them.
std::vector<float> gradient_by(const Plan& plan, const Model& model) {
  const std::vector<float> parameters = initial(model);
  std::vector<float> arena(plan.arena, NAN), gradient(parameters.size());
  const Data data(model, model.micro_batch(), 4);
  const MicroBatch batch = data.batch(0, model.micro_batch(), model.micro_batch());
  const Pass pass{batch, true};
  const PlanBuffers at{model, plan, arena.data(), batch.inputs, parameters.data(), gradient.data()};
  StepCalls calls;
  for (const Step& step : plan.steps) calls.forward(at, pass, step);
  const PlannedValue& scores = plan.values[plan.steps.back().output];
  for (std::uint64_t i = 0; i < scores.size; ++i) {
    arena[scores.gradient + i] = 0.1F * arena[scores.place + i] + 0.01F * static_cast<float>(i % 7);
  }
  const auto add_up = [](std::uint64_t size, Storage, const float* from, float* to) {
    for (std::uint64_t f = 0; f < size; ++f) to[f] += from[f];
  };
  calls.backward(at, pass, false, add_up, [](std::uint32_t) {});
  return gradient;
}

// Wherever the steps are cut, also where that costs memory.
TEST(Recomputation, AnySegmentsGiveTheSameBits) {
  std::size_t again = 0;
  for (const auto& [name, model] : all_models()) {
    SCOPED_TRACE(name);
    for (const Backend backend : {Backend::reference, Backend::cpu}) {
      Plan plan = make_plan(model, backend);
      const std::vector<float> kept = gradient_by(plan, model);
      for (std::uint64_t floats = 0; floats < plan.arena; floats += floats / 2 + 100) {
        recompute_within(plan, floats);
        again += computed_again(plan);
        ASSERT_EQ(gradient_by(plan, model), kept) << "segments of " << floats << " floats";
      }
    }
  }
  EXPECT_GT(again, 300U);
}

// Small inputs keep the test short.
TEST(Recomputation, GradientsOfBuiltInModelsHaveTheSameBits) {
  const Shape small{8, 8, 3}, picture{32, 32, 3};
  const std::vector<std::pair<std::string, ModelOptions>> all{
      {"softmax", {{4, 4, 1}, 3, {}}},
      {"svm", {{4, 4, 1}, 3, {}}},
      {"mlp", {{4, 4, 1}, 3, {{"dropout", "0.1"}}}},
      {"lenet5", {{28, 28, 1}, 3, {}}},
      {"cifarnet", {picture, 3, {}}},
      {"resnet20", {small, 3, {}}},
      {"resnet32", {small, 3, {}}},
      {"resnet18", {small, 3, {}}},
      {"resnet101", {picture, 3, {}}},
      {"densenet121", {picture, 3, {}}},
      {"shufflenet_v2", {picture, 3, {}}},
      {"efficientnet_b0", {picture, 3, {}}},
      {"efficientnet_b1", {picture, 3, {}}},
      {"inception_v3", {{75, 75, 3}, 3, {}}},
      {"vit", {small, 3, {{"width", "32"}, {"heads", "4"}}}},
      {"vit_b16", {{16, 16, 3}, 3, {}}},
      {"transformer", {{1, 6, 1}, 3, {{"width", "32"}}}},
      {"albert", {{1, 3, 1}, 3, {{"vocabulary", "50"}}}},
      {"gpt", {{1, 8, 1}, 256, {{"width", "24"}}}},
      {"gpt2", {{1, 8, 1}, 50, {{"width", "24"}}}}};
  std::set<std::string> tried{model_of_layers};
  for (const auto& [name, options] : all) {
    SCOPED_TRACE(name);
    tried.insert(name);
    expect_equal_bits(make_model(name, options));
  }
  for (const auto& row : built_in_models()) EXPECT_TRUE(tried.contains(row.name)) << row.name;
}

TEST(Recomputation, NeverNeedsMoreMemory) {
  for (const auto& [name, model] : all_models()) {
    for (const Backend backend : {Backend::reference, Backend::cpu}) {
      const Plan kept = make_plan(model, backend), again = make_plan(recomputing(model), backend);
      EXPECT_LE(again.arena, kept.arena) << name;
      EXPECT_EQ(computed_again(kept), 0U) << name;
    }
  }
}

// Its blocks are alike, so one block and the input of each must fit.
TEST(Recomputation, ADeepModelNeedsTheMemoryOfAFewBlocks) {
  const auto arena = [](const char* layers, bool again) {
    const ModelOptions options{{1, 32, 1}, 50, {{"width", "32"}, {"heads", "2"}, {"layers", layers}}};
    const Model model = make_model("gpt", options);
    return make_plan(again ? recomputing(model) : model, Backend::cpu).arena;
  };
  EXPECT_LT(arena("12", true), arena("12", false) / 4);
  EXPECT_LT(arena("24", true), 2 * arena("12", true));
}

// Each call has its inputs, and computes nothing twice.
TEST(Recomputation, StepsAreComputedAgainBeforeTheirGradients) {
  const Model model = recomputing(make_model("gpt", {{1, 8, 1}, 50, {{"width", "24"}}}));
  const Plan plan = make_plan(model, Backend::cpu);
  std::set<std::uint32_t> again, done;
  for (const BackwardCall& call : plan.backward) {
    EXPECT_FALSE(done.contains(call.step)) << "step " << call.step << " after its gradients";
    EXPECT_TRUE((call.again ? again : done).insert(call.step).second) << "step " << call.step << " twice";
  }
  EXPECT_EQ(done.size(), plan.steps.size());
  EXPECT_GT(again.size(), plan.steps.size() / 3);
  EXPECT_FALSE(again.contains(static_cast<std::uint32_t>(plan.steps.size() - 1)))
      << "the last segment has just been computed";
}

TEST(Recomputation, TheGradientOfScoresTakesTheirPlace) {
  const Plan plan = make_plan(make_model("gpt", {{1, 8, 1}, 256, {{"width", "24"}}}), Backend::cpu);
  const PlannedValue& scores = plan.values[plan.steps.back().output];
  EXPECT_EQ(scores.gradient, scores.place);
  const Model read_again = Model({1, 1, 5}, 3).linear("a", 3).sigmoid();
  const Plan other = make_plan(read_again, Backend::cpu);
  const PlannedValue& read = other.values[other.steps.back().output];
  EXPECT_NE(read.gradient, read.place) << "backward of the sigmoid reads its output";
}

}  // namespace
}  // namespace steelyard::nn::recomputation_test
