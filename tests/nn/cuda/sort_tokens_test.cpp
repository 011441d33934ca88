#include "nn/cuda/sort_tokens.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::sort_tokens_test {
namespace {

// Random numbers from -1 to `rows`, sorted there and here.
bool sorts(std::uint32_t tokens, std::uint32_t rows) {
  Random random(tokens);
  Stream stream;
  const std::uint64_t room = tokens + 1024;  // a kernel without its barriers counts too far
  PinnedArray<float> numbers(tokens);
  PinnedArray<std::uint32_t> by_rows(tokens), order(tokens);
  std::vector<std::uint32_t> row(tokens), expected(tokens);
  for (std::uint32_t t = 0; t < tokens; ++t) {
    const auto number = static_cast<std::uint32_t>(random.below(rows + 2));
    numbers.data()[t] = static_cast<float>(number) - 1;
    row[t] = number == 0 || number == rows + 1 ? 0 : number - 1;
  }
  std::iota(expected.begin(), expected.end(), 0U);
  std::ranges::stable_sort(expected, {}, [&](std::uint32_t t) { return row[t]; });
  DeviceArray<float> there(tokens);
  DeviceArray<std::uint32_t> sorted_rows(room), sorted_tokens(room);
  stream.copy_array(there.data(), numbers.data(), tokens);
  sort_tokens(stream, there.data(), tokens, rows, {sorted_rows.data(), sorted_tokens.data()});
  stream.copy_array(by_rows.data(), sorted_rows.data(), tokens);
  stream.copy_array(order.data(), sorted_tokens.data(), tokens);
  stream.synchronize();
  for (std::uint32_t i = 0; i < tokens; ++i) {
    if (order.data()[i] != expected[i] || by_rows.data()[i] != row[expected[i]]) return false;
  }
  return true;
}

TEST(SortTokens, ByRowsAndInTheirOrder) {
  for (const std::uint32_t tokens : {1, 2, 255, 256, 257, 700}) {
    for (const std::uint32_t rows : {1, 3, 1000}) {
      in_each_schedule([&] { EXPECT_TRUE(sorts(tokens, rows)) << tokens << " tokens, " << rows << " rows"; });
    }
  }
}

TEST(SortTokens, EachBarrierIsNeeded) {
  expect_barriers_of("sort_tokens.cu", [] { return sorts(700, 30); });
}

}  // namespace
}  // namespace steelyard::nn::cuda::sort_tokens_test
