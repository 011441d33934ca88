// Networks of the CPU in bf16: what they store in bfloat16, and how near they are to float32.
#include <algorithm>
#include <cmath>

#include "nn/cpu/storage.h"
#include "nn/models.h"
#include "nn/network.h"
#include "tests/nn/network_models.h"
#include "tests/support/distance.h"

namespace steelyard::nn::network_bf16_test {
namespace {

Model halved(Model model) { return model.multiply_in(Precision::bf16); }

std::vector<float> gradient_of(const Model& model, const Data& data, std::uint32_t size) {
  std::vector<float> gradient(model.parameters());
  Network(model).train(initial(model), data.batch(0, size, size - size / 4), gradient, false, nullptr);
  return gradient;
}

class NetworkInBf16 : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::stores_bf16()) GTEST_SKIP() << "this processor does not multiply bf16";
  }
};

// Rounding is 0.2 % of a number, moves some numbers across the kinks of ReLUs, and changes the maxima of
// pools: the gradients of one model differ by 10 %, of the others by less than half of that.
TEST_F(NetworkInBf16, GradientsAreNearThoseOfFloat32) {
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    const Data data(model, 8, 5);
    EXPECT_LT(test::distance(gradient_of(halved(model), data, 8), gradient_of(model, data, 8)), 0.12);
  }
}

// Each value of a step is read in the storage in which it was written, which only whole networks show.
TEST_F(NetworkInBf16, LossesOfBuiltInModelsAreNearThoseOfFloat32) {
  const std::vector<std::pair<std::string, Shape>> all{
      {"resnet20", {32, 32, 3}}, {"vit", {32, 32, 3}}, {"cifarnet", {32, 32, 3}}, {"lenet5", {28, 28, 1}}};
  for (const auto& [name, input] : all) {
    SCOPED_TRACE(name);
    const Model model = make_model(name, {input, 10, {}});
    const Data data(model, 4, 6);
    std::vector<float> parameters = initial(model), gradient(parameters.size());
    const double exact = Network(model).train(parameters, data.batch(0, 4, 4), gradient, false, nullptr).loss;
    Network network(halved(model));
    EXPECT_NEAR(network.train(parameters, data.batch(0, 4, 4), gradient, false, nullptr).loss, exact,
                0.02 * exact);
    EXPECT_TRUE(std::ranges::all_of(gradient, [](float it) { return std::isfinite(it); }));
  }
}

// With 32 inputs and 32 samples, the products of the second layer's output and of its gradient have the same
// extents, and only one of them has weights as a factor.
TEST_F(NetworkInBf16, ASharedLinearLayerHasTheGradientOfFloat32) {
  Model model({1, 1, 8}, 512);
  Value x = model.input_value().linear("in", 32).linear("a", 512).linear("b", 32);
  model.share_parameters();
  x.linear("a", 512);
  model.compute_at_once(32);
  const Data data(model, 32, 5);
  EXPECT_LT(test::distance(gradient_of(halved(model), data, 32), gradient_of(model, data, 32)), 0.05);
}

TEST_F(NetworkInBf16, AMicroBatchOfPaddingHasNoGradient) {
  const Model model = halved(make_model("gpt", {{1, 8, 1}, 256, {{"width", "24"}}}));
  const Data data(model, 4, 5);
  std::vector<float> gradient(model.parameters(), 7);
  Network(model).train(initial(model), data.batch(0, 4, 0), gradient, false, nullptr);
  EXPECT_EQ(gradient, std::vector<float>(model.parameters(), 0));
}

TEST_F(NetworkInBf16, ValuesInLanesAreFloat32) {
  const Model model = make_model("resnet20", {{32, 32, 3}, 10, {}});
  const Plan plan = make_plan(halved(model), Backend::cpu);
  std::size_t halves = 0;
  for (const PlannedValue& value : plan.values) {
    EXPECT_FALSE(value.order == Order::lanes && value.storage == Storage::bf16);
    halves += value.storage == Storage::bf16 ? 1 : 0;
  }
  EXPECT_GT(halves, plan.values.size() / 2);
  EXPECT_EQ(plan.values.back().storage, Storage::float32) << "the scores";
}

TEST_F(NetworkInBf16, ActivationsNeedAboutHalfTheMemory) {
  for (const char* name : {"resnet20", "vit"}) {
    const Model model = make_model(name, {{32, 32, 3}, 10, {}});
    const Plan halves = make_plan(halved(model), Backend::cpu), whole = make_plan(model, Backend::cpu);
    EXPECT_LT(static_cast<double>(halves.workspace), 0.7 * static_cast<double>(whole.workspace)) << name;
  }
}

// Copies of the weights are renewed by every call, unless its parameters are announced as the same.
TEST_F(NetworkInBf16, EachCallUsesItsParameters) {
  const Model model = halved(graph({1, 4, 8}, 3, [](Value x) {
    x.token_linear("a", {.outputs = 32}).gelu().token_linear("b", {.outputs = 32}).linear("c", 3);
  }));
  const Data data(model, 4, 5);
  std::vector<float> parameters = initial(model);
  Network network(model);
  const double before = network.evaluate(parameters, data.batch(0, 4, 4)).loss;
  for (float& parameter : parameters) parameter *= -2;
  const double after = network.evaluate(parameters, data.batch(0, 4, 4)).loss;
  EXPECT_NE(after, before);
  network.expect_same_parameters(true);
  EXPECT_EQ(network.evaluate(parameters, data.batch(0, 4, 4)).loss, after);
}

}  // namespace
}  // namespace steelyard::nn::network_bf16_test
