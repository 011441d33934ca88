#include "app/report/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::text_table_test {
namespace {

using testing::ElementsAre;

TEST(TextTable, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_THAT(aligned_lines({{"run", "time"}, {"für", "0:01"}, {"b", ""}}),
              ElementsAre("run  time", "für  0:01", "b"));
}

}  // namespace
}  // namespace steelyard::text_table_test
