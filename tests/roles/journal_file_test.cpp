// Bytes behind bytes, up to a limit; a journal that cannot be whole is none.
#include "roles/journal_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard {
namespace {

std::vector<std::byte> bytes(std::size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

class JournalFileTest : public testing::Test {
 protected:
  [[nodiscard]] bool is_there_and_empty() const {
    return std::filesystem::exists(path_) && std::filesystem::file_size(path_) == 0;
  }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "journal").string();
};

TEST_F(JournalFileTest, IsThereAtOnceAndGoesOnBehindWhatIsWhole) {
  {
    JournalFile journal(path_, bytes(10, 1));
    EXPECT_TRUE(journal.write(bytes(5, 2)));
    EXPECT_EQ(read_journal(path_).size(), 15U) << "also if this process is killed now";
  }
  {
    JournalFile journal(path_, 12);
    EXPECT_TRUE(journal.write(bytes(1, 3)));
  }
  auto expected = bytes(10, 1);
  expected.resize(12, std::byte{2});
  expected.push_back(std::byte{3});
  EXPECT_EQ(read_journal(path_), expected);
  JournalFile anew(path_, bytes(1, 4));
  EXPECT_EQ(read_journal(path_), bytes(1, 4));
}

TEST_F(JournalFileTest, AtItsLimitItIsEmptiedAndSaysSoOnce) {
  JournalFile journal(path_, bytes(10, 1), 1 << 20);
  EXPECT_TRUE(journal.write(bytes(1000, 2)));
  EXPECT_FALSE(journal.write(bytes(1 << 20, 2)));
  EXPECT_EQ(journal.trouble(), "it has its 1 MB");
  EXPECT_TRUE(is_there_and_empty());
  EXPECT_TRUE(journal.write(bytes(1, 2)));
  EXPECT_TRUE(is_there_and_empty()) << "one with a gap would tell another story";
}

// As a full disk does: a file may not be longer than this.
TEST_F(JournalFileTest, AFullDiskEndsIt) {
  JournalFile journal(path_, bytes(10, 1));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit little = before;
  little.rlim_cur = 15;
  setrlimit(RLIMIT_FSIZE, &little);
  const bool fits = journal.write(bytes(5, 2)), beyond = journal.write(bytes(5, 2));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(fits);
  EXPECT_FALSE(beyond);
  EXPECT_FALSE(journal.trouble().empty());
  EXPECT_TRUE(is_there_and_empty());
}

// Whoever comes next has to see that a job began here.
TEST_F(JournalFileTest, OneWhoseHeadCannotBeWrittenIsThereAndEmpty) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit little = before;
  little.rlim_cur = 5;
  setrlimit(RLIMIT_FSIZE, &little);
  const JournalFile journal(path_, bytes(10, 1));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(journal.trouble().empty());
  EXPECT_TRUE(is_there_and_empty());
}

TEST_F(JournalFileTest, WhereNoneCanBeTheJobGoesOnWithout) {
  JournalFile journal((folder_.path() / "nowhere" / "journal").string(), bytes(1, 1));
  EXPECT_FALSE(journal.trouble().empty());
  EXPECT_TRUE(journal.write(bytes(1, 1)));
  EXPECT_TRUE(read_journal(path_).empty());
  EXPECT_THROW(JournalFile(path_, 0), Failure);
}

TEST_F(JournalFileTest, WhatIsNoJournalIsNotWaitedForNorRead) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THROW((void)read_journal(path_), Failure);
  std::filesystem::remove(path_);
  folder_.write("journal", std::string_view("x"));
  std::filesystem::resize_file(path_, JournalFile::usual_limit + 1);
  EXPECT_THROW((void)read_journal(path_), Failure) << "it takes no room on the disk";
}

}  // namespace
}  // namespace steelyard
