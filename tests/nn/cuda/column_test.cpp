// What a plan for a device merges, and that it changes no bit but those of sums over few rows.
#include "nn/cuda/column.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "nn/cuda/array_kernels.h"
#include "nn/models.h"
#include "nn/recomputation.h"
#include "nn/step_calls.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/network_models.h"

namespace steelyard::nn::cuda::column_test {
namespace {

using testing::Contains;

constexpr std::uint32_t samples = 4;

// An op of which the planner does not know that its gradients are one.
class Apart final : public Op {
 public:
  explicit Apart(std::unique_ptr<Op> op) : op_(std::move(op)) {}
  void forward(const Pass& pass, const Forward& call) override { op_->forward(pass, call); }
  void backward(const Pass& pass, const Backward& call) override { op_->backward(pass, call); }
  [[nodiscard]] Traits traits() const override {
    Traits traits = op_->traits();
    traits.gives_d_output = false;
    return traits;
  }
  [[nodiscard]] std::string implementation() const override { return op_->implementation(); }

 private:
  std::unique_ptr<Op> op_;
};

// A plan, and one piece of it, without the rest of a network.
class Planned {
 public:
  explicit Planned(const Model& model, bool merged = true, Storage storage = Storage::float32)
      : model_(model), context_{stream_, products_, numbers_.data(), positions_.data(), nullptr} {
    nn::Column column = column_of(context_, storage);
    if (!merged) {
      column.make = [make = column.make](const OpKind& kind, const OpPlace& place) {
        return std::make_unique<Apart>(make(kind, place));
      };
      column.make_biased_activation = {};
      column.norms_add = false;
    }
    plan = make_plan(model_, column, samples);
  }

  struct Result {
    std::vector<float> scores, gradient;
  };
  // The gradient of the scores is the scores.
  Result run() {
    const std::vector<float> begin = initial(model_);
    const Data data(model_, samples, 6);
    const DeviceArray<float> arena = to_device(stream_, std::vector<float>(plan.arena, NAN)),
                             input = to_device(stream_, data.inputs), parameters = to_device(stream_, begin),
                             gradient(begin.size());
    stream_.fill_zero(numbers_.data(), sizeof(BatchNumbers));
    stream_.fill_zero(positions_.data(), samples * sizeof(std::uint64_t));
    const PlanBuffers at{model_, plan, arena.data(), input.data(), parameters.data(), gradient.data()};
    const MicroBatch batch{.size = samples, .count = UINT32_MAX};
    const Pass pass{batch, true};
    StepCalls calls;
    for (std::size_t i = 0; i < plan.steps.size(); ++i) calls.forward(at, pass, i);
    const PlannedValue& scores = plan.values[plan.steps.back().output];
    give(stream_, scores.size, arena.data() + scores.place, false, arena.data() + scores.gradient);
    const std::vector<float> all = to_host(stream_, arena);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(scores.place);
    Result result{{first, first + static_cast<std::ptrdiff_t>(scores.size)}, {}};
    const auto add = [&](std::uint64_t size, Storage, const float* from, float* to) {
      add_up(stream_, size, from, to);
    };
    calls.backward(at, pass, false, add, [](std::uint32_t) {});
    result.gradient = to_host(stream_, gradient);
    return result;
  }

  // Whether a step leaves both gradients of its inputs in the buffer of its output's.
  [[nodiscard]] std::vector<std::string> sharing() const {
    std::vector<std::string> names;
    for (const Step& step : plan.steps) {
      if (std::ranges::count(step.gives, Giving::in_place) == 2) names.push_back(step.name);
    }
    return names;
  }
  // How many implementations contain a word.
  [[nodiscard]] std::ptrdiff_t count(const std::string& word) const {
    return std::ranges::count_if(plan.implementations(),
                                 [&](const auto& it) { return it.find(word) != std::string::npos; });
  }

  Plan plan;

 private:
  Model model_;
  Stream stream_;
  Products products_{stream_, Precision::float32};
  DeviceArray<BatchNumbers> numbers_{1};
  DeviceArray<std::uint64_t> positions_{samples};
  Context context_;
};

constexpr const char* with_bias = "cuda with bias";
constexpr const char* in_norm = "in the layer norm behind it";

std::vector<std::pair<std::string, Model>> transformers() {
  std::vector<std::pair<std::string, Model>> all;
  const auto add = [&](const char* name, const ModelOptions& options) {
    all.emplace_back(name, make_model(name, options));
  };
  add("vit", {{8, 8, 3}, 3, {{"width", "24"}, {"layers", "3"}, {"heads", "2"}}});
  add("transformer", {{1, 6, 1}, 3, {{"width", "20"}, {"layers", "3"}}});
  add("gpt", {{1, 8, 1}, 256, {{"width", "18"}, {"layers", "3"}}});
  add("gpt2", {{1, 8, 1}, 50, {{"width", "24"}, {"layers", "3"}}});
  return all;
}

// In each of three layers: an activation, two additions, and two norms behind them; in vit and gpt the second
// one belongs to the next layer, or follows the last.
TEST(Column, TransformersAreMerged) {
  for (const auto& [name, model] : transformers()) {
    for (const Storage storage : {Storage::float32, Storage::bf16}) {
      SCOPED_TRACE(name);
      const Planned it(model, true, storage), separate(model, false, storage);
      EXPECT_EQ(it.count(with_bias), 3);
      EXPECT_EQ(it.count(in_norm), 6);
      EXPECT_EQ(it.sharing().size(), 6U);
      EXPECT_LE(it.plan.arena, separate.plan.arena);
      EXPECT_EQ(separate.count(with_bias) + separate.count(in_norm), 0);
      EXPECT_EQ(separate.sharing().size(), 0U);
    }
  }
}

// A sum over at most 512 rows has another order, so gradients of biases before activations may differ.
void expect_same(const Model& model, const Planned::Result& actual, const Planned::Result& expected) {
  EXPECT_EQ(actual.scores, expected.scores);
  ASSERT_EQ(actual.gradient.size(), expected.gradient.size());
  for (const Tensor& tensor : model.tensors()) {
    const auto part = [&](const std::vector<float>& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
      return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(tensor.size));
    };
    SCOPED_TRACE(tensor.spec.name);
    const auto here = part(actual.gradient), there = part(expected.gradient);
    if (tensor.spec.name.ends_with("bias") && here != there) {
      expect_near(here, there, 1e-5);
    } else {
      EXPECT_EQ(here, there);
    }
  }
}

TEST(Column, MergedStepsHaveTheBitsOfSeparateOnes) {
  auto all = transformers();
  for (auto& one : models()) all.push_back(std::move(one));
  for (const auto& [name, model] : all) {
    SCOPED_TRACE(name);
    Planned merged(model), separate(model, false);
    const Planned::Result expected = separate.run();
    expect_same(model, merged.run(), expected);
  }
}

// The second term is not needed behind the addition, and has the size of the norm's output.
TEST(Column, TermsStayUntilTheNormHasReadThem) {
  const Planned it(graph({1, 4, 8}, 3, [](Value x) {
    x = x.token_linear("a", {.outputs = 8});
    const Value y = x.token_linear("b", {.outputs = 8});
    Value(x).add(y).layer_norm("n").global_average_pool().linear("c", 3);
  }));
  const auto& steps = it.plan.steps;
  const auto addition = std::ranges::find(steps, true, &Step::with_next);
  ASSERT_NE(addition, steps.end());
  const PlannedValue& normed = it.plan.values[std::next(addition)->output];
  for (const std::uint32_t term : addition->inputs) {
    const PlannedValue& of = it.plan.values[term];
    EXPECT_TRUE(of.place + of.floats() <= normed.place || normed.place + normed.floats() <= of.place);
  }
}

// Also where a segment begins between an addition and the norm that computes it.
TEST(Column, MergedStepsMayBeComputedAgain) {
  for (const auto& [name, model] : transformers()) {
    SCOPED_TRACE(name);
    Planned it(model);
    const Planned::Result kept = it.run();
    std::size_t again = 0;
    for (std::uint64_t floats = 0; floats < it.plan.arena; floats += floats / 2 + 300) {
      recompute_within(it.plan, floats);
      for (const BackwardCall& call : it.plan.backward)
        again += call.again && it.plan.steps[call.step].with_next ? 1 : 0;
      const Planned::Result result = it.run();
      ASSERT_EQ(result.gradient, kept.gradient) << "segments of " << floats << " floats";
      ASSERT_EQ(result.scores, kept.scores);
    }
    EXPECT_GT(again, 0U) << "no addition was computed again";
  }
}

TEST(Column, ABiasStaysInALayerWithOtherReaders) {
  const auto merges = [](const std::function<Value(Value)>& build, Storage storage = Storage::float32) {
    return Planned(graph({1, 4, 6}, 3, [&](Value x) { build(x).global_average_pool().linear("c", 3); }), true,
                   storage)
        .count(with_bias);
  };
  EXPECT_EQ(merges([](Value x) { return x.token_linear("a", {.outputs = 6}).gelu(); }), 1);
  EXPECT_EQ(merges([](Value x) { return x.token_linear("a", {.outputs = 6, .bias = false}).gelu(); }), 0);
  EXPECT_EQ(merges([](Value x) {
              const Value y = x.token_linear("a", {.outputs = 6});
              return Value(y).gelu().add(y);
            }),
            0);
  EXPECT_EQ(merges([](Value x) { return x.token_linear("a", {.outputs = 6}).dropout(0.5).gelu(); }), 0);
}

// The scores are float32, so here a cast is between the two.
TEST(Column, ABiasStaysInALayerThatIsStoredOtherwise) {
  const Model model = graph({1, 1, 6}, 3, [](Value x) { x.linear("a", 3).tanh(); });
  EXPECT_EQ(Planned(model).count(with_bias), 1);
  EXPECT_EQ(Planned(model, true, Storage::bf16).count(with_bias), 0);
}

TEST(Column, OnlyTheNormBehindAnAdditionComputesIt) {
  const auto merges = [](const std::function<Value(Value)>& build) {
    return Planned(graph({1, 4, 8}, 3, [&](Value x) { build(x).global_average_pool().linear("c", 3); }))
        .count(in_norm);
  };
  const TokenLinear wide{.outputs = 8};
  EXPECT_EQ(merges([&](Value x) { return x.token_linear("a", wide).add(x).layer_norm("n"); }), 1);
  EXPECT_EQ(merges([&](Value x) {
              const Value sum = x.token_linear("a", wide).add(x);
              return Value(sum).silu().add(Value(sum).layer_norm("n"));
            }),
            0)
      << "another step is between them";
  EXPECT_EQ(merges([&](Value x) { return x.token_linear("a", wide).batch_norm("b").add(x).layer_norm("n"); }),
            0)
      << "the addition is part of a batch norm";
  EXPECT_EQ(merges([&](Value x) { return x.token_linear("a", wide).add(x).group_norm("n", GroupNorm(2)); }),
            0);
}

// The gradient of a term stays where the sum's is, unless it would be overwritten or added to too early.
TEST(Column, GradientsOfAdditionsAreSharedOnlyIfNoneIsOverwritten) {
  const TokenLinear wide{.outputs = 8};
  const auto shared = [&](const std::function<Value(Value)>& build) {
    const Model model = graph({1, 4, 8}, 3, [&](Value x) {
      build(x.token_linear("first", wide)).global_average_pool().linear("c", 3);
    });
    Planned it(model), separate(model, false);
    expect_same(model, it.run(), separate.run());
    return it.sharing().size();
  };
  const auto branch = [&](Value x) { return x.token_linear("a", wide).silu().token_linear("b", wide); };
  EXPECT_EQ(shared([&](Value x) { return branch(x).add(x); }), 1U);
  EXPECT_EQ(shared([&](Value x) { return Value(x).add(branch(x)); }), 1U);
  EXPECT_EQ(shared([&](Value x) { return x.token_linear("a", wide).add(x); }), 0U)
      << "the branch's layer adds to the gradient of its input while it reads that of its output";
  EXPECT_EQ(shared([&](Value x) { return branch(x).dropout(0.5).add(x); }), 0U) << "dropout is in place";
  EXPECT_EQ(shared([&](Value x) {
              const Value y = branch(x);
              const Value z = Value(y).gelu();
              return Value(y).add(x).add(z);
            }),
            0U)
      << "the branch has two readers";
  EXPECT_EQ(shared([&](Value x) {
              const Value y = branch(x);
              return Value(x).silu().add(y);
            }),
            0U)
      << "the other term is computed later, and its gradient overwritten earlier";
}

}  // namespace
}  // namespace steelyard::nn::cuda::column_test
