// What a network in bf16 stores in bfloat16, and what not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "nn/cuda/context.h"
#include "nn/cuda/cuda_network.h"
#include "nn/models.h"
#include "nn/network_plan.h"
#include "tests/nn/network_models.h"

namespace steelyard::nn::cuda::storage_test {
namespace {

using testing::Contains;
using testing::ElementsAre;

// Does nothing: plans only.
class Nothing final : public Op {
 public:
  explicit Nothing(OpPlace place) : place_(std::move(place)) {}
  void forward(const Pass&, const Forward&) override {}
  void backward(const Pass&, const Backward&) override {}
  [[nodiscard]] std::string implementation() const override {
    return place_.storage == Storage::bf16 ? "bf16" : "float32";
  }

 private:
  OpPlace place_;
};

Plan plan(const Model& model, bool bf16 = true) {
  const auto make = [](const OpPlace& place) { return std::make_unique<Nothing>(place); };
  Column column{[=](const OpKind&, const OpPlace& place) { return make(place); },
                [=](const BatchNorm&, const OpPlace& place, FusedTail) { return make(place); }};
  if (bf16) {
    column.storage = Storage::bf16;
    column.make_cast = make;
  }
  return make_plan(model, column, 32);
}

std::vector<std::string> steps(const Model& model) { return plan(model).implementations(); }

// ---- plans

TEST(Storage, TheInputIsCastAndTheScoresAreFloat32) {
  const Model model =
      graph({4, 4, 3}, 3, [](Value x) { x.conv2d("a", {.channels = 8, .kernel = 3}).relu().linear("b", 3); });
  EXPECT_THAT(steps(model), ElementsAre("input (cast): bf16", "a: bf16", "relu2: bf16",
                                        "relu2 (cast): float32", "b: float32"));
}

TEST(Storage, OneCastServesAllReaders) {
  const Model model = graph({4, 4, 3}, 8, [](Value x) {
    const Value a = x.conv2d("a", {.channels = 8, .kernel = 3}),
                b = x.conv2d("b", {.channels = 8, .kernel = 3});
    a.add(b).linear("c", 8);
  });
  const std::vector<std::string> all = steps(model);
  EXPECT_EQ(std::ranges::count(all, "input (cast): bf16"), 1);
}

// In bfloat16 257 would be 256.
TEST(Storage, RowNumbersAreFloat32) {
  const Model model = graph({1, 5, 2}, 3, [](Value x) {
    const Value words = x.channel_slice(0, 1).embedding("e", {.rows = 1000, .features = 8});
    words.add(x.token_linear("t", {.outputs = 8})).global_average_pool().linear("c", 3);
  });
  const std::vector<std::string> all = steps(model);
  EXPECT_THAT(all, Contains("channel_slice1: float32"));
  EXPECT_THAT(all, Contains("e: bf16"));
  EXPECT_THAT(all, Contains("t: bf16"));
}

// A norm, the addition and the ReLU behind it are one step with the storage of the last.
TEST(Storage, MergedStepsHaveTheStorageOfTheirLastNode) {
  const auto model = [](bool continues) {
    return graph({1, 1, 3}, 3, [=](Value x) {
      Value y = x.conv2d("a", {.channels = 3, .kernel = 1});
      Value z = x.conv2d("b", {.channels = 3, .kernel = 1}).batch_norm("n").add(y).relu();
      if (continues) z.linear("c", 3);
    });
  };
  EXPECT_THAT(steps(model(true)), Contains("n: bf16"));
  EXPECT_THAT(steps(model(false)), Contains("n: float32"));
  EXPECT_THAT(steps(model(false)), Contains("a (cast): float32"));
}

TEST(Storage, ColumnsWithoutItHaveNoCasts) {
  const Model model = make_model("resnet20", {{8, 8, 3}, 3, {}});
  for (const std::string& step : plan(model, false).implementations()) {
    EXPECT_EQ(step.find("(cast)"), std::string::npos);
    EXPECT_EQ(step.find("bf16"), std::string::npos);
  }
}

// All places are multiples of 64 bytes, and no two values that are needed at once overlap, also with two
// bytes a number; the arena has about half the size.
TEST(Storage, ActivationsOfTwoBytesTakeHalfOfTheArena) {
  for (const char* name : {"resnet20", "vit"}) {
    const Model model = make_model(name, {{32, 32, 3}, 10, {}});
    const Plan halves = plan(model), whole = plan(model, false);
    for (const PlannedValue& value : halves.values) {
      EXPECT_EQ(value.place % 16, 0U);
      EXPECT_EQ(value.gradient % 16, 0U);
      EXPECT_LE(value.place + value.floats(), halves.arena);
    }
    const double share = static_cast<double>(halves.arena) / static_cast<double>(whole.arena);
    EXPECT_LT(share, 0.55) << name;
    EXPECT_GT(share, 0.45) << name;
  }
}

// ---- networks

// Gradients of a table: only of the rows that were read.
TEST(Storage, EachRowOfALargeTableGetsItsOwnGradient) {
  Model model = graph({1, 4, 1}, 3, [](Value x) {
    x.embedding("e", {.rows = 1000, .features = 8}).global_average_pool().linear("c", 3);
  });
  model.multiply_in(Precision::bf16);
  const std::vector<float> parameters = initial(model);
  const std::vector<float> inputs{257, 259, 513, 999};
  const std::uint32_t label = 1;
  const std::uint64_t position = 0;
  Network network(model, 0, 1);
  network.begin(parameters);
  network.train({.inputs = inputs.data(), .labels = &label, .positions = &position, .size = 1, .count = 1},
                true);
  std::vector<float> gradient(model.parameters(), NAN);
  network.finish(gradient, {});
  std::set<float> rows;
  for (std::size_t i = 0; i < 8000; ++i) {
    if (gradient[model.tensors()[0].offset + i] != 0) rows.insert(static_cast<float>(i / 8));
  }
  EXPECT_THAT(rows, testing::ElementsAreArray(inputs));
}

TEST(Storage, ANetworkInBf16NeedsAboutHalfTheMemory) {
  const Model model = make_model("resnet20", {{32, 32, 3}, 10, {}});
  const Network halves(Model(model).multiply_in(Precision::bf16), 0, 32, false);
  const Network whole(model, 0, 32, false);
  const auto fixed = static_cast<double>(2 * sizeof(float) * model.parameters());
  EXPECT_LT(static_cast<double>(halves.bytes()) - fixed, 0.6 * (static_cast<double>(whole.bytes()) - fixed));
}

}  // namespace
}  // namespace steelyard::nn::cuda::storage_test
