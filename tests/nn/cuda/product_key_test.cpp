#include "nn/cuda/product_key.h"

#include <gtest/gtest.h>

#include <array>

namespace steelyard::nn::cuda::product_key_test {
namespace {

struct ProductKeys : testing::Test {
  alignas(16) std::array<float, 64> memory{};

  [[nodiscard]] Product<float> product(const float* bias) {
    return Product<float>{.rows = 4,
                          .columns = 4,
                          .inner = 4,
                          .a = memory.data(),
                          .b = memory.data() + 16,
                          .c = memory.data() + 32,
                          .bias = bias}
        .with_rows();
  }
};

// An algorithm that was chosen for an aligned bias must not get another one.
TEST_F(ProductKeys, DependOnTheAlignmentOfTheBias) {
  const ProductKey none(product(nullptr)), aligned(product(memory.data() + 48)),
      odd(product(memory.data() + 49)), other(product(memory.data() + 52));
  EXPECT_EQ(none.bias, Bias::none);
  EXPECT_EQ(aligned.bias, Bias::library);
  EXPECT_EQ(odd.bias, Bias::own_kernel);
  EXPECT_NE(aligned, odd);
  EXPECT_EQ(aligned, other) << "equally aligned";
}

TEST_F(ProductKeys, TheLibraryAddsNoBiasToASum) {
  Product<float> p = product(memory.data() + 48);
  p.add = true;
  EXPECT_EQ(ProductKey(p).bias, Bias::own_kernel);
}

TEST_F(ProductKeys, DependOnTheAlignmentOfEachMatrix) {
  const ProductKey usual(product(nullptr));
  Product<float> p = product(nullptr);
  p.a += 2;
  EXPECT_EQ(ProductKey(p).a_at, 8U);
  EXPECT_NE(ProductKey(p), usual);
  p = product(nullptr);
  p.b += 1;
  EXPECT_EQ(ProductKey(p).b_at, 4U);
  p = product(nullptr);
  p.c_row = 5;
  EXPECT_EQ(ProductKey(p).c_at, 4U) << "its second row";
}

}  // namespace
}  // namespace steelyard::nn::cuda::product_key_test
