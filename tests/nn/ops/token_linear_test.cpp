#include "nn/cpu/onednn.h"
#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::token_linear_test {
namespace {

TEST(TokenLinear, TheCpuMatchesTheReference) {
  Random random(3);
  onednn::use_this_thread_only();
  for (const Shape input : {Shape{1, 1, 1}, Shape{1, 17, 33}, Shape{3, 5, 16}, Shape{1, 9, 40}}) {
    for (const std::uint32_t outputs : {1U, 7U, 150U}) {
      SCOPED_TRACE(testing::Message() << input.channels << " to " << outputs);
      expect_good_op(TokenLinear{.outputs = outputs, .bias = outputs != 7}, {input}, random);
    }
  }
}

TEST(TokenLinear, SupportsBf16) {
  Random random(4);
  for (const bool add : {false, true}) {
    expect_same_in_bf16(TokenLinear{.outputs = 150}, {{1, 17, 33}}, 4, 3, add, random);
    expect_same_in_bf16(TokenLinear{.outputs = 32, .bias = false}, {{3, 5, 64}}, 32, 32, add, random);
  }
}

}  // namespace
}  // namespace steelyard::nn::token_linear_test
