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

enum class Spread : std::uint8_t { any, one_row, different, skewed };

// Gradients are small whole numbers, so their sums are exact in any order.
void expect_right(std::uint32_t tokens, std::uint32_t rows, std::uint32_t features, Spread spread) {
  SCOPED_TRACE(testing::Message() << tokens << " tokens, " << rows << " rows, " << features
                                  << " features, spread " << static_cast<int>(spread));
  Random random(tokens + features);
  const bool add = spread == Spread::skewed;
  Question q = question({.rows = rows, .features = features}, tokens, 1, 1, add, random);
  q.place.micro_batch = 1;
  for (std::uint32_t t = 0; t < tokens; ++t) {
    float& number = q.inputs[0][t];
    if (spread == Spread::one_row) number = static_cast<float>(rows / 2);
    if (spread == Spread::different) number = static_cast<float>((t * 7 + 3) % rows);
    if (spread == Spread::skewed && random.below(10) != 0) number = static_cast<float>(rows - 1);
  }
  Floats expected(q.d_parameters[0].size());
  for (float& before : q.d_parameters[0]) before = 1;
  if (add) expected = q.d_parameters[0];
  for (std::size_t i = 0; i < q.d_output.size(); ++i) {
    q.d_output[i] = static_cast<float>(random.below(200)) - 100;
    expected[static_cast<std::size_t>(q.inputs[0][i / features]) * features + i % features] += q.d_output[i];
  }
  OnDevice op(q);
  const MicroBatch batch{.size = 1, .count = 1};
  EXPECT_EQ(run(op, q, {batch, true}).d_parameters[0], expected);
}

// Around the pieces of 32 tokens, with rows that begin and end in, at and across their borders.
TEST(CudaEmbedding, SumsAnyNumberOfTokensOfARow) {
  using Numbers = std::vector<std::uint32_t>;
  for (const std::uint32_t tokens :
       thorough ? Numbers{1, 31, 32, 33, 63, 64, 65, 300, 1025, 5000} : Numbers{33, 64, 300}) {
    for (const Spread spread : {Spread::any, Spread::one_row, Spread::different, Spread::skewed}) {
      const std::uint32_t rows = spread == Spread::different ? tokens : 17;
      for (const std::uint32_t features : {1U, 6U, 8U}) expect_right(tokens, rows, features, spread);
    }
  }
  in_each_schedule([] { expect_right(700, 5, 132, Spread::any); });
}

// Pieces are longer than 32 tokens.
TEST(CudaEmbedding, SumsManyTokens) {
  if (!thorough) GTEST_SKIP() << "too slow under a sanitizer";
  expect_right(50000, 100, 4, Spread::skewed);
}

// The order of additions is that of the tokens' places: equal inputs give equal bits in every schedule.
TEST(CudaEmbedding, GivesEqualBits) {
  Random random(6);
  const MicroBatch batch{.size = 3, .count = 3};
  const Question q = question({.rows = 3, .features = 5}, 400, 3, 3, false, random);
  OnDevice op(q);
  const Floats first = run(op, q, {batch, true}).d_parameters[0];
  in_each_schedule([&] { EXPECT_EQ(run(op, q, {batch, true}).d_parameters[0], first); });
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
