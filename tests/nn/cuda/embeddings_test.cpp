#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::embeddings_test {
namespace {

using testing::ElementsAre;

Question question(Embedding op, std::uint32_t tokens, std::uint32_t size, std::uint32_t count, bool add,
                  Random& random) {
  Question q = random_question(op, {{1, tokens, 1}}, size, count, add, random);
  for (float& number : q.inputs[0]) number = static_cast<float>(random.below(op.rows));
  return q;
}

TEST(CudaEmbedding, AgreesWithTheReference) {
  Random random(1);
  for (const Embedding& op : {Embedding{.rows = 11, .features = 37}, Embedding{.rows = 1, .features = 1},
                              Embedding{.rows = 1000, .features = 8}}) {
    for (const bool add : {false, true}) {
      const std::uint32_t size = thorough ? 32 : 4;
      const MicroBatch batch{.size = size, .count = size - 3};
      const Pass pass{batch, true};
      Question q = question(op, 19, size, size - 3, add, random);
      q.place.micro_batch = size;  // so that the buffer ends with the last token
      const Answer expected = run(*reference_op(q), q, pass);
      OnDevice ours(q);
      in_each_schedule([&] { expect_same(run(ours, q, pass), expected, q, pass); });
      expect_all_buffers(ours, q, pass, expected);
    }
  }
}

TEST(CudaEmbedding, InvalidRowsCountAsRowZero) {
  const MicroBatch batch{.size = 1, .count = 1};
  Random random(2);
  Question q = question({.rows = 2, .features = 1}, 5, 1, 1, true, random);
  q.inputs[0] = {-1, 2, NAN, 1e30F, 1};
  q.parameters = {{7, 8}};
  q.d_parameters = {{100, 200}};
  q.d_output = {1, 2, 3, 4, 5};
  OnDevice op(q);
  const Answer answer = run(op, q, {batch, true});
  EXPECT_THAT(answer.output, ElementsAre(7, 7, 7, 7, 8));
  EXPECT_THAT(answer.d_parameters[0], ElementsAre(110, 205));
}

TEST(CudaEmbedding, EachBarrierIsNeeded) {
  Random random(3);
  expect_needed_barriers("embeddings.cu", {question({.rows = 3, .features = 5}, 300, 2, 2, false, random)}, 2,
                         2);
}

}  // namespace
}  // namespace steelyard::nn::cuda::embeddings_test
