// Checks for every op: it has a case in the table, the reference's gradients are derivatives, and the CPU
// matches the reference.
#include <steelyard/model.h>

#include <set>

#include "tests/nn/ops/op_cases.h"
#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::every_op_test {
namespace {

constexpr std::size_t max_features = 64;  // of an input; each feature needs its own finite difference

std::string named(const OpCase& it) {
  std::string text = name_of(it.kind);
  for (const Shape shape : it.inputs) text += " " + to_string(shape);
  return text;
}

// Two ops also have separate tests (dropout_test.cpp, linear_test.cpp): masks of dropout depend on positions,
// which the micro-batches here lack, and a linear layer of the CPU may read or write lanes.
TEST(EveryOp, HasACase) {
  std::set<std::size_t> kinds{OpKind(Dropout(0.5)).index(), OpKind(Linear{}).index()};
  for (const OpCase& it : op_cases()) kinds.insert(it.kind.index());
  EXPECT_EQ(kinds.size(), std::variant_size_v<OpKind>) << "an op of STEELYARD_OPS has no row in op_cases()";
}

TEST(EveryOp, MatchesHandComputedNumbers) {
  Random random(1);
  const MicroBatch batch{.size = 1, .count = 1};
  for (const KnownAnswer& known : known_answers()) {
    SCOPED_TRACE(name_of(known.kind));
    Question q = random_question(known.kind, known.shapes, 1, 1, false, random);
    q.inputs = known.inputs;
    q.parameters = known.parameters;
    q.d_output = known.d_output;
    for (const auto& make : {reference_op, +[](const Question& one) { return cpu_op(one); }}) {
      const Answer answer = run(*make(q), q, {batch, true});
      EXPECT_EQ(answer.output, known.output);
      EXPECT_EQ(answer.d_inputs, known.d_inputs);
      EXPECT_EQ(answer.d_parameters, known.d_parameters);
    }
  }
}

TEST(EveryOp, ReferenceGradientsMatchFiniteDifferences) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 3};
  for (const OpCase& it : op_cases()) {
    if (!it.smooth || it.inputs[0].size() > max_features) continue;
    SCOPED_TRACE(named(it));
    const Question q = random_question(it.kind, it.inputs, 4, 3, false, random);
    expect_true_gradients(*reference_op(q), q, {batch, true});
  }
}

TEST(EveryOp, TheCpuMatchesTheReference) {
  Random random(3);
  for (const OpCase& it : op_cases()) {
    SCOPED_TRACE(named(it));
    expect_good_op(it.kind, it.inputs, random, it.tolerance);
  }
}

// x + x: the first gradient is computed in place, the second is added to it.
TEST(Add, SupportsAddingAValueToItself) {
  const MicroBatch batch{.size = 1, .count = 1};
  const std::unique_ptr<Op> op = cpu::make(Add(), {.inputs = {{1, 1, 3}, {1, 1, 3}}, .output = {1, 1, 3}});
  Floats x{1, 2, 3}, gradient{5, 6, 7};
  const std::vector<const float*> inputs{x.data(), x.data()};
  op->forward({batch, true}, {inputs, {}, x.data(), nullptr});
  EXPECT_EQ(x, (Floats{2, 4, 6}));
  const std::vector<InputGradient> d_inputs{{gradient.data(), false}, {gradient.data(), true}};
  op->backward({batch, true}, {inputs, {}, x.data(), gradient.data(), d_inputs, {}, false, nullptr});
  EXPECT_EQ(gradient, (Floats{10, 12, 14}));
}

TEST(Add, SupportsLanes) {
  Random random(4);
  for (const std::uint32_t size : {2U, 32U}) {
    const Pass pass{{.size = size, .count = size}, true};
    const Question q = random_question(Add(), {{3, 3, 5}, {3, 3, 5}}, size, size, false, random);
    expect_same(run(*cpu_op(q, Order::lanes), q, pass, Order::lanes, Order::lanes),
                run(*reference_op(q), q, pass), q, pass, 1e-6F);
  }
}

TEST(Tokens, ImagesInLanesKeepTheirOrder) {
  Random random(4);
  const MicroBatch batch{.size = 4, .count = 4};
  const Question q = random_question(Tokens{}, {{2, 3, 5}}, 4, 4, false, random);
  EXPECT_EQ(q.place.output, (Shape{1, 6, 5}));
  const Answer answer = run(*cpu_op(q, Order::lanes), q, {batch, true}, Order::lanes, Order::lanes);
  EXPECT_EQ(answer.output, q.inputs[0]);
  EXPECT_EQ(answer.d_inputs[0], q.d_output);
}

}  // namespace
}  // namespace steelyard::nn::every_op_test
