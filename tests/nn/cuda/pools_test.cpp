#include "core/error.h"
#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::pools_test {
namespace {

TEST(CudaAveragePool, AgreesWithTheReference) {
  Random random(1);
  for (const AveragePool& pool : {AveragePool(2), AveragePool(3, 2, 1), AveragePool(3, 1, 1),
                                  AveragePool(2, 3), AveragePool(5, 2, 2), AveragePool(1, 2)}) {
    for (const Shape input : {Shape{5, 7, 1}, Shape{6, 5, 3}, Shape{9, 8, 16}, Shape{5, 6, 33}}) {
      SCOPED_TRACE(testing::Message() << pool.size << '/' << pool.stride << '/' << pool.padding << " of "
                                      << input.height << 'x' << input.width << 'x' << input.channels);
      expect_good_cuda_op(pool, {input}, random, 1e-5F);
    }
  }
}

TEST(CudaMaxPool, AgreesWithTheReference) {
  Random random(1);
  for (const MaxPool& pool : {MaxPool(2), MaxPool(3, 2, 1), MaxPool(3, 1, 1), MaxPool(2, 3), MaxPool(5, 2, 2),
                              MaxPool(1, 2), MaxPool(4, 3, 2)}) {
    for (const Shape input : {Shape{5, 7, 1}, Shape{6, 5, 3}, Shape{9, 8, 16}, Shape{5, 6, 33}}) {
      SCOPED_TRACE(testing::Message() << pool.size << '/' << pool.stride << '/' << pool.padding << " of "
                                      << input.height << 'x' << input.width << 'x' << input.channels);
      expect_good_cuda_op(pool, {input}, random, 1e-6F);
    }
  }
}

// Few different numbers, some of them NaN or infinite, processed in packs and singly: the first of equal
// numbers gets the gradient.
TEST(CudaMaxPool, ChoosesTheFirstOfEqualsAndTheFirstNan) {
  Random random(2);
  const MicroBatch batch{.size = 2, .count = 2};
  for (const std::uint32_t channels : {3U, 8U}) {
    for (const MaxPool& pool : {MaxPool(2), MaxPool(3, 1, 1), MaxPool(3, 2, 1)}) {
      Question q = random_question(pool, {{8, 7, channels}}, 2, 2, false, random);
      constexpr float some[]{-1, 0, 1, 1, -INFINITY, -INFINITY, NAN};
      for (float& value : q.inputs[0]) value = some[random.below(7)];
      OnDevice op(q);
      const auto reference = reference_op(q);
      const Pass pass{batch, true};
      const float* const input = q.inputs[0].data();
      const auto answer = [&](Op& of) {
        Floats output(q.d_output.size()), d_input(q.inputs[0].size()), d_output = q.d_output;
        of.forward(pass, {{&input, 1}, {}, output.data(), nullptr});
        const InputGradient gradient{d_input.data(), false};
        of.backward(pass,
                    {{&input, 1}, {}, output.data(), d_output.data(), {&gradient, 1}, {}, false, nullptr});
        return std::pair(output, d_input);
      };
      const auto [output, d_input] = answer(op);
      const auto [expected, d_expected] = answer(*reference);
      for (std::size_t i = 0; i < output.size(); ++i) {
        if (std::isnan(expected[i])) {
          EXPECT_TRUE(std::isnan(output[i])) << i;
        } else {
          EXPECT_EQ(output[i], expected[i]) << i;
        }
      }
      expect_near(d_input, d_expected, "gradient of the input", 1e-6F);
    }
  }
}

TEST(CudaMaxPool, RefusesTooLargeWindows) {
  Random random(3);
  const Question q = random_question(MaxPool(257), {{257, 257, 1}}, 1, 1, false, random);
  EXPECT_THROW(OnDevice{q}, Failure);
}

}  // namespace
}  // namespace steelyard::nn::cuda::pools_test
