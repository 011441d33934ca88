// docs/write_a_kernel.md shows code that is compiled and tested: each of its blocks must occur in one of two
// files.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tidy/source_tree.h"

namespace steelyard::test::write_a_kernel_test {
namespace {

const std::vector<std::string>& lines_of(const std::string& path) {
  const auto found = std::ranges::find(source_tree(), path, &SourceFile::path);
  if (found == source_tree().end()) throw std::runtime_error(path + " does not exist");
  return found->lines;
}

TEST(WriteAKernel, ShowsTheCurrentCode) {
  std::size_t blocks = 0;
  std::vector<std::string> block;
  bool inside = false;
  for (const std::string& line : lines_of("docs/write_a_kernel.md")) {
    if (inside && line == "```") {
      const bool found = std::ranges::any_of(
          std::vector<std::string>{"tests/nn/cuda/rungs_test.cpp", "nn/cuda/layer_norm.cu"},
          [&](const std::string& path) { return !std::ranges::search(lines_of(path), block).empty(); });
      EXPECT_TRUE(found) << "the code differs from this block: " << block.front();
      block.clear();
      inside = false;
      ++blocks;
    } else if (inside) {
      block.push_back(line);
    }
    inside = inside || line == "```cpp";
  }
  EXPECT_GE(blocks, 5U);
}

}  // namespace
}  // namespace steelyard::test::write_a_kernel_test
