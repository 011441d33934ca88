#include "nn/cpu/turned_product.h"

#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::turned_product_test {
namespace {

using cpu::TurnedProduct;

struct Matrices {
  std::uint64_t rows, left, right;
  Floats a, b, c;
};

Matrices random_matrices(std::uint64_t rows, std::uint64_t left, std::uint64_t right, Random& random) {
  return {rows,
          left,
          right,
          random_floats(rows * left, random),
          random_floats(rows * right, random),
          random_floats(left * right, random)};
}

// Compares a few rows of the product: a reference with all takes seconds.
void expect_product(const Matrices& m, bool add, const Floats& got) {
  for (std::uint64_t i = 0; i < m.left; i += m.left / 5 + 1) {
    for (std::uint64_t j = 0; j < m.right; ++j) {
      double expected = add ? m.c[i * m.right + j] : 0;
      for (std::uint64_t r = 0; r < m.rows; ++r)
        expected += double{m.a[r * m.left + i]} * m.b[r * m.right + j];
      ASSERT_NEAR(got[i * m.right + j], expected, 1e-3) << i << ", " << j;
    }
  }
}

TEST(TurnedProduct, IsCorrectWithAndWithoutCopies) {
  Random random(1);
  onednn::use_this_thread_only();
  onednn::Products products;
  const auto check = [&](std::uint64_t rows, std::uint64_t left, std::uint64_t right) {
    const Matrices m = random_matrices(rows, left, right, random);
    for (const Level level : {Level::v3, Level::v4}) {
      for (const bool add : {false, true}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << left << " x " << right << ", " << name(level)
                                        << (add ? ", added" : ""));
        const TurnedProduct product(left, right, level);
        Floats c = add ? m.c : Floats(m.c.size(), NAN), scratch(product.scratch(), NAN);
        product.multiply(products, rows, m.a.data(), m.b.data(), add, c.data(), scratch.data());
        expect_product(m, add, c);
      }
    }
  };
  check(5, 7, 33);
  check(300, 256, 40);    // only the left matrix is copied, in two parts
  check(513, 24, 512);    // only the right one
  check(256, 256, 1024);  // both, all rows at once
}

TEST(TurnedProduct, WritesZerosWithoutRows) {
  onednn::Products products;
  const TurnedProduct product(256, 3, Level::v3);
  Floats c(256 * 3, NAN), scratch(product.scratch());
  const float nothing = 0;
  product.multiply(products, 0, &nothing, &nothing, false, c.data(), scratch.data());
  EXPECT_EQ(c, Floats(c.size(), 0.0F));
}

TEST(TurnedProduct, CopiesOnlyWherePackingIsSlow) {
  const auto scratch = [](std::uint64_t left, std::uint64_t right, Level level) {
    return TurnedProduct(left, right, level).scratch();
  };
  EXPECT_EQ(scratch(256, 768, Level::v4), 0U);
  EXPECT_EQ(scratch(256, 768, Level::baseline), 0U);
  EXPECT_EQ(scratch(384, 768, Level::v3), 0U);
  EXPECT_EQ(scratch(256, 768, Level::v3), 256U * 272);
  EXPECT_EQ(scratch(256, 1024, Level::v3), 256U * (272 + 1040));
}

}  // namespace
}  // namespace steelyard::nn::turned_product_test
