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

TEST(TextTable, WhatDoesNotFitIsOnASecondLine) {
  const std::vector<std::vector<std::string>> rows{{"run", "time", "result"}, {"a-1", "0:01", "finished"}};
  EXPECT_THAT(aligned_lines(rows, Alignment::words, 19),
              ElementsAre("run  time  result", "a-1  0:01  finished"));
  EXPECT_THAT(aligned_lines(rows, Alignment::words, 18),
              ElementsAre("run  time\n    result", "a-1  0:01\n    finished"));
  EXPECT_THAT(aligned_lines(rows, Alignment::words, 1),
              ElementsAre("run\n    time  result", "a-1\n    0:01  finished"));
}

TEST(TextTable, NumbersAreRightAligned) {
  const std::vector<std::vector<std::string>> rows{{"run", "samples", "by"}, {"a", "7", "x"}};
  EXPECT_THAT(aligned_lines(rows, Alignment::numbers), ElementsAre("run  samples  by", "a          7   x"));
  EXPECT_THAT(aligned_lines(rows, Alignment::numbers_and_words),
              ElementsAre("run  samples  by", "a          7  x"));
}

}  // namespace
}  // namespace steelyard::text_table_test
