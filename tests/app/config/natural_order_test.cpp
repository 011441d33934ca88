#include "app/config/hosts_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace steelyard::natural_order_test {
namespace {

TEST(NaturalOrder, NumbersCountAsNumbers) {
  const std::vector<std::string> ordered{"",
                                         "2",
                                         "10",
                                         "box-1-a",
                                         "box-01-a",
                                         "box-1-b",
                                         "box-2",
                                         "box-10",
                                         "box-10-2",
                                         "box-10-11",
                                         "box-99999999999999999999",
                                         "box-100000000000000000000",
                                         "fast",
                                         "fast2",
                                         "faster"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      // If only leading zeros differ, either order is allowed, but it must be consistent.
      if (i != j && std::min(i, j) == 3 && std::max(i, j) == 4) continue;
      EXPECT_EQ(natural_less(ordered[i], ordered[j]), i < j) << ordered[i] << " and " << ordered[j];
    }
  }
  EXPECT_NE(natural_less("box-1-a", "box-01-a"), natural_less("box-01-a", "box-1-a"));
}

}  // namespace
}  // namespace steelyard::natural_order_test
