// A record in parts.
#include "core/record_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temporary_folder.h"

namespace steelyard::record_parts_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RecordParts : public testing::Test {
 protected:
  void append(const std::string& text) { folder_.write("rounds.jsonl", folder_.text("rounds.jsonl") + text); }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("rounds.jsonl");
};

TEST_F(RecordParts, AreReadInOrder) {
  EXPECT_EQ(read_parts(path_), "");
  EXPECT_THAT(parts_of(path_), ElementsAre(path_));
  for (int i = 1; i <= 11; ++i) {
    append(std::to_string(i) + "\n");
    ASSERT_TRUE(close_part(path_));
  }
  append("12\n");
  EXPECT_EQ(read_parts(path_), "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n") << "10 comes after 9";
  EXPECT_EQ(last_closed_part(path_), 11U);
  EXPECT_EQ(size_of_parts(path_), read_parts(path_).size());
  std::filesystem::remove(part_of(path_, 1));
  EXPECT_EQ(read_parts(path_).substr(0, 4), "2\n3\n") << "a user moved the oldest away";
}

TEST_F(RecordParts, OtherFilesAreNoParts) {
  for (const char* name :
       {"rounds.jsonl.1", "rounds.x.jsonl", "events.1.jsonl", "rounds.0.jsonl", "rounds.1.json"})
    folder_.write(name, "x\n");
  append("1\n");
  EXPECT_THAT(closed_parts(path_), IsEmpty());
  EXPECT_EQ(read_parts(path_), "1\n");
}

TEST_F(RecordParts, ACutGoesBackOverClosedParts) {
  append("1\n");
  ASSERT_TRUE(close_part(path_));
  append("2\n3\n4\n");
  ASSERT_TRUE(close_part(path_));
  append("5\n");
  ASSERT_TRUE(close_part(path_));
  append("6\n7\n");
  cut_parts(path_, 3, 2);
  EXPECT_EQ(read_parts(path_), "1\n2\n3\n4\n5\n6\n");
  cut_parts(path_, 1, 4);
  EXPECT_EQ(read_parts(path_), "1\n2\n3\n");
  EXPECT_EQ(folder_.text("rounds.jsonl"), "2\n3\n");
  EXPECT_EQ(last_closed_part(path_), 1U);
  cut_parts(path_, 1, 100);
  EXPECT_EQ(read_parts(path_), "1\n2\n3\n") << "nothing is added";
}

// Killed between any two steps of a cut, the next one gives the same.
TEST_F(RecordParts, AnInterruptedCutIsRepeated) {
  for (const std::size_t gone : {1U, 2U}) {
    for (const auto& it : std::filesystem::directory_iterator(folder_.path())) std::filesystem::remove(it);
    for (int i = 1; i <= 4; ++i) {
      append(std::to_string(i) + "\n" + std::to_string(i) + "\n");
      if (i < 4) {
        ASSERT_TRUE(close_part(path_));
      }
    }
    const std::vector<std::string> parts = parts_of(path_);
    for (std::size_t i = 0; i < gone; ++i) std::filesystem::remove(parts[parts.size() - 1 - i]);
    cut_parts(path_, 1, 2);
    EXPECT_EQ(read_parts(path_), "1\n1\n2\n") << gone;
  }
}

}  // namespace
}  // namespace steelyard::record_parts_test
