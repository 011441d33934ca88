// The ops that add, put, take or only name tokens: each is linear.
#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::sequence_test {
namespace {

using testing::ElementsAre;

struct Known {
  OpKind kind;
  Floats output, d_input, d_parameter;
};

// Two tokens of two features, 1 2 and 3 4; the parameter is 10 20 .., the gradient of the output 1 2 3 ..
TEST(SequenceOps, GiveHandComputedNumbers) {
  const MicroBatch batch{.size = 1, .count = 1};
  Random random(1);
  const std::vector<Known> known{
      {PositionEmbedding{}, {11, 22, 33, 44}, {1, 2, 3, 4}, {1, 2, 3, 4}},
      {ClassToken{}, {10, 20, 1, 2, 3, 4}, {3, 4, 5, 6}, {1, 2}},
      {SelectToken(1), {3, 4}, {0, 0, 1, 2}, {}},
      {Tokens{}, {1, 2, 3, 4}, {1, 2, 3, 4}, {}},
  };
  for (const Known& one : known) {
    Question q = random_question(one.kind, {{1, 2, 2}}, 1, 1, false, random);
    q.inputs[0] = {1, 2, 3, 4};
    for (Floats& parameter : q.parameters) {
      for (std::size_t i = 0; i < parameter.size(); ++i) parameter[i] = 10.0F * static_cast<float>(i + 1);
    }
    for (std::size_t i = 0; i < q.d_output.size(); ++i) q.d_output[i] = static_cast<float>(i + 1);
    for (Op* op : {reference_op(q).release(), cpu_op(q).release()}) {
      const std::unique_ptr<Op> owner(op);
      SCOPED_TRACE(op->implementation() + " of op " + std::to_string(one.kind.index()));
      const Answer answer = run(*op, q, {batch, true});
      EXPECT_EQ(answer.output, one.output);
      EXPECT_EQ(answer.d_inputs[0], one.d_input);
      if (!one.d_parameter.empty()) {
        EXPECT_EQ(answer.d_parameters[0], one.d_parameter);
      }
    }
  }
}

const std::vector<OpKind> kinds{PositionEmbedding{},
                                PositionEmbedding{.rows = 50},
                                PositionEmbedding{.rows = 3, .first_only = true},
                                ClassToken{},
                                SelectToken(0),
                                SelectToken(4),
                                Tokens{}};

TEST(SequenceOps, TheReferencesHaveTrueGradients) {
  Random random(2);
  const MicroBatch batch{.size = 2, .count = 1};
  for (const OpKind& kind : kinds) {
    const Question q = random_question(kind, {{1, 5, 3}}, 2, 1, false, random);
    expect_true_gradients(*reference_op(q), q, {batch, true});
  }
}

TEST(SequenceOps, TheCpuGivesWhatTheReferenceGives) {
  Random random(3);
  for (const OpKind& kind : kinds) {
    for (const std::uint32_t features : {1U, 3U, 16U, 141U}) {
      SCOPED_TRACE(testing::Message() << "op " << kind.index() << " of " << features);
      expect_good_op(kind, {{1, 5, features}}, random);
    }
  }
}

TEST(Tokens, OfAPictureInLanesAreThosePlaces) {
  Random random(4);
  const MicroBatch batch{.size = 4, .count = 4};
  const Question q = random_question(Tokens{}, {{2, 3, 5}}, 4, 4, false, random);
  EXPECT_EQ(q.place.output, (Shape{1, 6, 5}));
  const Answer answer = run(*cpu_op(q, Order::lanes), q, {batch, true}, Order::lanes, Order::lanes);
  EXPECT_EQ(answer.output, q.inputs[0]);
  EXPECT_EQ(answer.d_inputs[0], q.d_output);
}

}  // namespace
}  // namespace steelyard::nn::sequence_test
