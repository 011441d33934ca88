#include "nn/cpu/turned_product.h"

#include <algorithm>

#include "nn/cpu/kernel_calls.h"

namespace steelyard::nn::cpu {
namespace {

constexpr std::uint64_t rows_at_once = 256;  // the copies then stay in the second-level cache
constexpr std::uint64_t line = 16;           // floats

bool packs_slowly(std::uint64_t columns) { return columns == 256 || columns == 512 || columns == 1024; }

// The `count` rows, copied if `copy_row` is not 0.
onednn::Operand operand(const float* from, std::uint64_t columns, std::uint64_t count, std::uint64_t copy_row,
                        float* copy) {
  if (copy_row == 0) return {from, columns};
  rows_kernels().copy(count, columns, from, columns, copy, copy_row);
  return {copy, copy_row};
}

}  // namespace

TurnedProduct::TurnedProduct(std::uint64_t left, std::uint64_t right, Level level)
    : left_(left), right_(right), left_row_(0), right_row_(0) {
  if (level != Level::v3) return;
  if (packs_slowly(left)) left_row_ = left + line;
  if (packs_slowly(right)) right_row_ = right + line;
}

std::uint64_t TurnedProduct::scratch() const { return rows_at_once * (left_row_ + right_row_); }

void TurnedProduct::multiply(onednn::Products& products, std::uint64_t rows, const float* a, const float* b,
                             bool add, float* c, float* copies) const {
  const std::uint64_t step = scratch() == 0 ? rows : rows_at_once;
  std::uint64_t first = 0;
  do {  // once without rows, too: c is zero then
    const std::uint64_t count = std::min(step, rows - first);
    onednn::Operand left = operand(a + first * left_, left_, count, left_row_, copies);
    left.turn = onednn::Turn::yes;
    const onednn::Operand right =
        operand(b + first * right_, right_, count, right_row_, copies + rows_at_once * left_row_);
    products.multiply({left_, right_, count}, left, right, add || first > 0, c, right_);
    first += count;
  } while (first < rows);
}

}  // namespace steelyard::nn::cpu
