// A journal file only grows, up to a limit. One that cannot be complete is emptied.
#include "app/processes/journal_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/error.h"
#include "tests/support/files_of_at_most.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::journal_file_test {
namespace {

std::vector<std::byte> bytes(std::size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

using News = JournalFile::News;

class JournalFileTest : public testing::Test {
 protected:
  [[nodiscard]] bool exists_and_is_empty() const {
    return std::filesystem::exists(path_) && std::filesystem::file_size(path_) == 0;
  }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "journal").string();
};

TEST_F(JournalFileTest, ExistsAtOnceAndContinuesAfterTheValidPart) {
  {
    JournalFile journal(path_, bytes(10, 1));
    EXPECT_EQ(journal.write(bytes(5, 2)), News::none);
    EXPECT_EQ(read_journal(path_).size(), 15U) << "even if this process is killed now";
  }
  {
    JournalFile journal(path_, 12);
    EXPECT_EQ(journal.write(bytes(1, 3)), News::none);
  }
  auto expected = bytes(10, 1);
  expected.resize(12, std::byte{2});
  expected.push_back(std::byte{3});
  EXPECT_EQ(read_journal(path_), expected);
  JournalFile anew(path_, bytes(1, 4));
  EXPECT_EQ(read_journal(path_), bytes(1, 4));
}

TEST_F(JournalFileTest, IsReplacedAtomically) {
  JournalFile journal(path_, bytes(1 << 10, 1), 1 << 20);
  EXPECT_TRUE(journal.begin_anew(bytes(10, 2)));
  EXPECT_EQ(journal.write(bytes(1, 3)), News::none);
  auto expected = bytes(10, 2);
  expected.push_back(std::byte{3});
  EXPECT_EQ(read_journal(path_), expected);
  {
    const FilesOfAtMost little(100);
    EXPECT_FALSE(journal.begin_anew(bytes(200, 4)));
  }
  EXPECT_EQ(journal.write(bytes(1, 5)), News::none);
  expected.push_back(std::byte{5});
  EXPECT_EQ(read_journal(path_), expected);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(JournalFileTest, IsNotReplacedWhileItWaitsForRoom) {
  JournalFile journal(path_, bytes(90, 1), 1 << 20);
  const FilesOfAtMost little(100);
  EXPECT_EQ(journal.write(bytes(20, 2)), News::waits);
  EXPECT_FALSE(journal.begin_anew(bytes(10, 3)));
}

TEST_F(JournalFileTest, AtItsLimitItIsEmptiedAndReportedOnce) {
  JournalFile journal(path_, bytes(10, 1), 1 << 20);
  EXPECT_EQ(journal.write(bytes(1000, 2)), News::none);
  EXPECT_EQ(journal.write(bytes(1 << 20, 2)), News::ends);
  EXPECT_EQ(journal.trouble(), "it has reached its limit of 1 MB");
  EXPECT_TRUE(exists_and_is_empty());
  EXPECT_EQ(journal.write(bytes(1, 2)), News::none);
  EXPECT_TRUE(exists_and_is_empty()) << "one with a gap would be replayed wrongly";
}

TEST_F(JournalFileTest, AFullDiskLosesNoRecord) {
  JournalFile journal(path_, bytes(10, 1));
  {
    const FilesOfAtMost full(17);
    EXPECT_EQ(journal.write(bytes(5, 2)), News::none);
    EXPECT_EQ(journal.write(bytes(5, 3)), News::waits) << "of these, two are written";
    EXPECT_FALSE(journal.trouble().empty());
    EXPECT_TRUE(exists_and_is_empty()) << "replies may have been sent for records that are not in it";
    EXPECT_EQ(journal.write(bytes(5, 4)), News::none);
  }
  EXPECT_TRUE(exists_and_is_empty());
  EXPECT_EQ(journal.write(bytes(1, 5)), News::whole);
  EXPECT_EQ(journal.trouble(), "");
  auto expected = bytes(10, 1);
  for (const auto& [count, value] : {std::pair{5, 2}, {5, 3}, {5, 4}, {1, 5}}) {
    expected.insert(expected.end(), static_cast<std::size_t>(count), static_cast<std::byte>(value));
  }
  EXPECT_EQ(read_journal(path_), expected);
  EXPECT_EQ(journal.write(bytes(2, 6)), News::none);
  EXPECT_EQ(read_journal(path_).size(), 28U) << "after the others";
  EXPECT_FALSE(std::filesystem::exists(path_ + ".aside"));
}

TEST_F(JournalFileTest, TheBytesThatWaitForRoomAreLimited) {
  JournalFile journal(path_, bytes(10, 1));
  {
    const FilesOfAtMost full(10);
    EXPECT_EQ(journal.write(bytes(JournalFile::waiting_limit, 2)), News::waits);
    EXPECT_EQ(journal.write(bytes(1, 3)), News::ends);
  }
  EXPECT_FALSE(journal.trouble().empty());
  EXPECT_EQ(journal.write(bytes(1, 4)), News::none);
  EXPECT_TRUE(exists_and_is_empty()) << "it has a gap";
  EXPECT_FALSE(std::filesystem::exists(path_ + ".aside"));
}

// Left by a process that was killed while its journal was set aside.
TEST_F(JournalFileTest, AnOldFileSetAsideIsOverwritten) {
  folder_.write("journal.aside", std::string_view("former"));
  JournalFile journal(path_, bytes(10, 1));
  {
    const FilesOfAtMost full(10);
    EXPECT_EQ(journal.write(bytes(1, 2)), News::waits);
    EXPECT_TRUE(exists_and_is_empty());
  }
  EXPECT_EQ(journal.write(bytes(1, 3)), News::whole);
  EXPECT_EQ(read_journal(path_).size(), 12U);
}

TEST_F(JournalFileTest, IsReadCompletelyUnlessSetAside) {
  JournalFile journal(path_, bytes(10, 1));
  EXPECT_EQ(journal.write(bytes(5, 2)), News::none);
  EXPECT_EQ(journal.whole().size(), 15U);
  const FilesOfAtMost full(15);
  EXPECT_EQ(journal.write(bytes(5, 3)), News::waits);
  EXPECT_TRUE(journal.whole().empty());
}

TEST_F(JournalFileTest, AnAbandonedJournalIsEmptiedWithAReason) {
  JournalFile journal(path_, bytes(10, 1));
  EXPECT_EQ(journal.give_up("not needed"), News::ends);
  EXPECT_TRUE(exists_and_is_empty());
  EXPECT_EQ(journal.trouble(), "not needed");
  EXPECT_TRUE(journal.whole().empty());
}

// The next scheduler must see that a job started here.
TEST_F(JournalFileTest, AJournalWithAnUnwritableHeadIsEmpty) {
  const FilesOfAtMost full(5);
  const JournalFile journal(path_, bytes(10, 1));
  EXPECT_FALSE(journal.trouble().empty());
  EXPECT_TRUE(exists_and_is_empty());
}

TEST_F(JournalFileTest, AnImpossibleJournalIsReportedAndIgnored) {
  JournalFile journal((folder_.path() / "nowhere" / "journal").string(), bytes(1, 1));
  EXPECT_FALSE(journal.trouble().empty());
  EXPECT_EQ(journal.write(bytes(1, 1)), News::none);
  EXPECT_TRUE(read_journal(path_).empty());
  EXPECT_THROW(JournalFile(path_, 0), Failure);
}

TEST_F(JournalFileTest, PipesAndHugeFilesAreNotRead) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THROW((void)read_journal(path_), Failure);
  std::filesystem::remove(path_);
  folder_.write("journal", std::string_view("x"));
  std::filesystem::resize_file(path_, JournalFile::usual_limit + 1);
  EXPECT_THROW((void)read_journal(path_), Failure) << "a sparse file";
}

}  // namespace
}  // namespace steelyard::journal_file_test
