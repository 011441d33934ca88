#include "nn/cpu/kernel_calls.h"

#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::row_sums_test {
namespace {

TEST(RowSums, AreCorrectAtEveryLevelAndStayInTheirColumns) {
  Random random(1);
  for (const std::size_t columns : {1U, 7U, 16U, 131U, 300U}) {
    const Rows rows{5, columns, columns + 3};
    const Floats matrix = random_floats(rows.count * rows.stride, random),
                 row = random_floats(columns, random);
    for (const Level level : {Level::baseline, Level::v3, Level::v4}) {
      if (level > cpu_level()) continue;
      for (const bool add : {false, true}) {
        Floats sums(columns + 1, 7);
        sum_rows(rows, matrix.data(), add, sums.data(), level);
        for (std::size_t c = 0; c < columns; ++c) {
          double expected = add ? 7 : 0;
          for (std::size_t r = 0; r < rows.count; ++r) expected += matrix[r * rows.stride + c];
          EXPECT_NEAR(sums[c], expected, 1e-5);
        }
        EXPECT_EQ(sums[columns], 7);
      }
      Floats with_row(matrix.size(), 9);
      add_row(rows, matrix.data(), row.data(), with_row.data(), level);
      for (std::size_t i = 0; i < matrix.size(); ++i) {
        const std::size_t c = i % rows.stride;
        EXPECT_EQ(with_row[i], c < columns ? matrix[i] + row[c] : 9);
      }
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::row_sums_test
