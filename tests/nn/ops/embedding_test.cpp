#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::embedding_test {
namespace {

using testing::Each;
using testing::ElementsAre;

Question question(Embedding op, std::uint32_t tokens, std::uint32_t size, std::uint32_t count, bool add,
                  Random& random) {
  Question q = random_question(op, {{1, tokens, 1}}, size, count, add, random);
  for (float& number : q.inputs[0]) number = static_cast<float>(random.below(op.rows));
  return q;
}

TEST(Embedding, MatchesHandComputedNumbers) {
  const MicroBatch batch{.size = 1, .count = 1};
  Random random(1);
  Question q = question({.rows = 3, .features = 2}, 4, 1, 1, true, random);
  q.inputs[0] = {2, 0, 2, 1};
  q.parameters = {{1, 2, 3, 4, 5, 6}};
  q.d_parameters = {{100, 100, 100, 100, 100, 100}};
  q.d_output = {1, 10, 2, 20, 4, 40, 8, 80};
  for (Op* op : {reference_op(q).release(), cpu_op(q).release()}) {
    const std::unique_ptr<Op> owner(op);
    const Answer answer = run(*op, q, {batch, true});
    EXPECT_THAT(answer.output, ElementsAre(5, 6, 1, 2, 5, 6, 3, 4));
    EXPECT_THAT(answer.d_parameters[0], ElementsAre(102, 120, 108, 180, 105, 150));
    EXPECT_THAT(answer.d_inputs[0], Each(0));
  }
}

TEST(Embedding, InvalidRowsCountAsRowZero) {
  const MicroBatch batch{.size = 1, .count = 1};
  Random random(2);
  Question q = question({.rows = 2, .features = 1}, 5, 1, 1, false, random);
  q.inputs[0] = {-1, 2, NAN, 1e30F, 1};
  q.parameters = {{7, 8}};
  for (Op* op : {reference_op(q).release(), cpu_op(q).release()}) {
    const std::unique_ptr<Op> owner(op);
    EXPECT_THAT(run(*op, q, {batch, true}).output, ElementsAre(7, 7, 7, 7, 8));
  }
}

TEST(Embedding, TheCpuMatchesTheReference) {
  Random random(3);
  for (const Embedding& op : {Embedding{.rows = 11, .features = 37}, Embedding{.rows = 1, .features = 1}}) {
    for (const bool add : {false, true}) {
      const MicroBatch batch{.size = 8, .count = 5};
      const Pass pass{batch, true};
      const Question q = question(op, 9, 8, 5, add, random);
      const Answer expected = run(*reference_op(q), q, pass);
      expect_same(run(*cpu_op(q), q, pass), expected, q, pass);
      expect_all_buffers(*cpu_op(q), q, pass, expected);
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::embedding_test
