// A journal on a disk that hangs: writes do not block, keep their order, and are not lost.
#include "app/processes/journal_thread.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "tests/support/files_of_at_most.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::journal_thread_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Bytes = std::vector<std::byte>;

Bytes bytes(std::size_t count, int value) { return Bytes(count, static_cast<std::byte>(value)); }

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// A record that contains its number.
Bytes numbered(std::uint64_t number) {
  Bytes record(sizeof number);
  std::memcpy(record.data(), &number, sizeof number);
  return record;
}

class JournalThreadTest : public testing::Test {
 protected:
  [[nodiscard]] JournalThread start(Bytes head, JournalThread::Options options = {}) {
    return JournalThread(std::make_unique<JournalFile>(path_, head), people(), options);
  }
  [[nodiscard]] JournalThread::People people() {
    return {[this](const std::string& text) { news_.push_back(text); },
            [this](const std::string& text) { shown_.push_back(text); }};
  }
  static void wait_until_written(JournalThread& journal) {
    while (journal.pending() > 0) std::this_thread::yield();
  }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "journal").string();
  std::vector<std::string> news_, shown_;
};

TEST_F(JournalThreadTest, RecordsNoLongerPendingAreInTheFile) {
  JournalThread journal = start(bytes(10, 1));
  Bytes expected = bytes(10, 1);
  for (int i = 0; i < 300; ++i) {
    const Bytes record = bytes(static_cast<std::size_t>(i % 7 + 1), i);
    expected = joined({expected, record});
    EXPECT_TRUE(journal.write(record));
    if (i % 3 != 0) continue;
    wait_until_written(journal);
    EXPECT_EQ(read_journal(path_), expected) << "even if this process is killed now";
  }
  journal.finish();
  EXPECT_EQ(read_journal(path_), expected);
  EXPECT_THAT(news_, IsEmpty());
}

TEST_F(JournalThreadTest, RecordsAreCollectedUntilAnswersWaitForThem) {
  JournalThread journal = start({}, {.collected = std::chrono::hours(1)});
  EXPECT_TRUE(journal.write(bytes(5, 2)));
  EXPECT_TRUE(journal.write(bytes(5, 3)));
  EXPECT_EQ(read_journal(path_), Bytes());
  wait_until_written(journal);
  EXPECT_EQ(read_journal(path_), joined({bytes(5, 2), bytes(5, 3)}));
}

TEST_F(JournalThreadTest, OldRecordsAreQueuedByTheNextOne) {
  JournalThread journal = start({}, {.collected = Duration{}});
  EXPECT_TRUE(journal.write(bytes(5, 2)));
  EXPECT_TRUE(journal.write(bytes(5, 3)));
  while (read_journal(path_).size() < 10) std::this_thread::yield();
  EXPECT_EQ(read_journal(path_), joined({bytes(5, 2), bytes(5, 3)}));
}

TEST_F(JournalThreadTest, IsReplacedAfterEarlierRecords) {
  JournalThread journal = start(bytes(10, 1));
  EXPECT_TRUE(journal.write(bytes(5, 2)));
  EXPECT_TRUE(journal.begin_anew(bytes(3, 3), bytes(2, 4)));
  EXPECT_TRUE(journal.write(bytes(1, 5)));
  journal.finish();
  EXPECT_EQ(read_journal(path_), joined({bytes(3, 3), bytes(2, 4), bytes(1, 5)}));
}

TEST_F(JournalThreadTest, ReadersGetAllRecordsHandedOver) {
  JournalThread journal = start(bytes(10, 1), {.wait = Duration{}});
  EXPECT_TRUE(journal.write(bytes(5, 2)));
  Bytes expected = joined({bytes(10, 1), bytes(5, 2)});
  auto whole = journal.whole();
  for (int i = 0; !whole; ++i) {
    EXPECT_TRUE(journal.write(bytes(3, i)));
    expected = joined({expected, bytes(3, i)});
    std::this_thread::yield();
    whole = journal.whole();
  }
  EXPECT_EQ(*whole, expected);
  EXPECT_TRUE(journal.write(bytes(4, 9)));
  do whole = journal.whole();
  while (!whole);
  EXPECT_EQ(*whole, joined({expected, bytes(4, 9)}));
}

TEST_F(JournalThreadTest, AFullDiskIsReportedAndWaitedFor) {
  JournalThread journal = start(bytes(10, 1));
  {
    const FilesOfAtMost full(12);
    EXPECT_TRUE(journal.write(bytes(5, 2)));
    wait_until_written(journal);
    EXPECT_THAT(news_, ElementsAre(HasSubstr("cannot be written")));
    EXPECT_FALSE(journal.is_sound());
    EXPECT_FALSE(journal.begin_anew(bytes(1, 1), bytes(1, 1)));
    EXPECT_EQ(journal.whole(), Bytes()) << "no standby can follow now";
    EXPECT_TRUE(journal.write(bytes(5, 3))) << "it has not ended";
    wait_until_written(journal);
  }
  EXPECT_TRUE(journal.write(bytes(1, 4)));
  wait_until_written(journal);
  EXPECT_THAT(news_, ElementsAre(HasSubstr("cannot be written"), HasSubstr("complete again")));
  EXPECT_EQ(journal.whole(), joined({bytes(10, 1), bytes(5, 2), bytes(5, 3), bytes(1, 4)}));
}

TEST_F(JournalThreadTest, AJournalThatCannotBeCreatedHasEnded) {
  JournalThread journal(std::make_unique<JournalFile>(folder_.path("nowhere/journal"), bytes(1, 1)),
                        people());
  EXPECT_THAT(news_, ElementsAre(HasSubstr("the journal of this run has ended")));
  EXPECT_FALSE(journal.write(bytes(1, 1)));
  EXPECT_EQ(journal.pending(), 0U);
  EXPECT_EQ(journal.whole(), Bytes());
}

// Acknowledged records are in the file, in the order in which they were handed over, whenever the process is
// killed.
TEST_F(JournalThreadTest, AcknowledgedRecordsSurviveAKill) {
  std::array<int, 2> acknowledged{};
  ASSERT_EQ(::pipe(acknowledged.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    JournalThread journal = start({});
    for (std::uint64_t i = 0;; ++i) {
      (void)journal.write(numbered(i));
      const bool written = i % 5 == 0 && journal.pending() == 0;
      if (written && ::write(acknowledged[1], &i, sizeof i) != sizeof i) ::_exit(1);
    }
  }
  ::close(acknowledged[1]);
  std::uint64_t last = 0;
  for (int i = 0; i < 300; ++i) ASSERT_EQ(::read(acknowledged[0], &last, sizeof last), ssize_t{sizeof last});
  ::kill(child, SIGKILL);
  while (::read(acknowledged[0], &last, sizeof last) == ssize_t{sizeof last}) continue;
  ::waitpid(child, nullptr, 0);
  ::close(acknowledged[0]);
  const Bytes journal = read_journal(path_);
  ASSERT_GE(journal.size(), (last + 1) * sizeof last);
  for (std::uint64_t i = 0; i * sizeof i < journal.size(); ++i) {
    std::uint64_t number = 0;
    std::memcpy(&number, &journal[i * sizeof i], sizeof number);
    ASSERT_EQ(number, i);
  }
}

// The file is a pipe, which accepts some kilobytes and then nothing until it is read.
class HangingJournal : public JournalThreadTest {
 protected:
  static constexpr std::size_t takes = 4096;
  HangingJournal() {
    const std::string fresh = path_ + ".new";
    EXPECT_EQ(::mkfifo(fresh.c_str(), 0600), 0);
    pipe_ = ::open(fresh.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(::fcntl(pipe_, F_SETPIPE_SZ, takes), static_cast<int>(takes));
  }
  ~HangingJournal() override { ::close(pipe_); }

  [[nodiscard]] Bytes read(std::size_t count) const {
    Bytes all(count);
    std::size_t have = 0;
    while (have < count) {
      const ssize_t got = ::read(pipe_, &all[have], count - have);
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    return all;
  }
  [[nodiscard]] std::size_t unread() const {
    int count = 0;
    EXPECT_EQ(::ioctl(pipe_, FIONREAD, &count), 0);
    return static_cast<std::size_t>(count);
  }

  int pipe_ = -1;
};

// If the test's only thread waited for the disk once, it would never return.
TEST_F(HangingJournal, NeitherBlocksNorLosesRecords) {
  JournalThread journal = start(bytes(10, 1));
  Bytes expected = bytes(10, 1);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(journal.write(bytes(1000, i)));
    expected = joined({expected, bytes(1000, i)});
    if (i >= 5) {
      EXPECT_GT(journal.pending(), 0U) << "the disk has taken only a few";
    }
  }
  EXPECT_TRUE(read(expected.size()) == expected);
  wait_until_written(journal);
}

TEST_F(HangingJournal, IsEmptiedAtItsLimitBeforePendingIsZero) {
  JournalThread journal =
      start(bytes(1, 1), {.wait = Duration{}, .collected = Duration{}, .most_waiting = 20'000});
  EXPECT_TRUE(journal.write(bytes(10'000, 1)));
  while (unread() < 2) std::this_thread::yield();  // the thread writes this record, and blocks within it
  std::size_t taken = 0;
  while (journal.write(bytes(1000, 2))) ++taken;
  EXPECT_EQ(taken, 10U);
  EXPECT_FALSE(journal.is_sound());
  EXPECT_FALSE(journal.write(bytes(1, 2)));
  EXPECT_EQ(journal.whole(), Bytes());
  EXPECT_GT(journal.pending(), 0U) << "the disk lacks records, so replies must wait";
  EXPECT_THAT(news_, IsEmpty());
  std::filesystem::rename(path_, path_ + ".pipe");
  folder_.write("journal", std::string_view("what the disk shows"));
  while (journal.pending() > 0) (void)read(unread());
  EXPECT_EQ(std::filesystem::file_size(path_), 0U);
  EXPECT_THAT(news_, ElementsAre(HasSubstr("the journal of this run has ended")));
  EXPECT_FALSE(journal.write(bytes(1, 2)));
}

TEST_F(HangingJournal, ExitDoesNotWaitForTheDisk) {
  {
    JournalThread journal = start(bytes(1, 1), {.at_end = milliseconds(10)});
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(journal.write(bytes(1000, i)));
  }
  EXPECT_EQ(read(10'001).back(), std::byte{9}) << "records are written if the disk recovers";
}

TEST_F(HangingJournal, HangsAreReportedAtOnceAndAfterwards) {
  JournalThread journal = start(bytes(1, 1), {.wait = Duration{}, .silence = milliseconds(20)});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(journal.write(bytes(1000, i)));
  while (shown_.empty()) (void)journal.pending();
  EXPECT_THAT(shown_, ElementsAre(HasSubstr("the run directory does not answer")));
  EXPECT_THAT(news_, IsEmpty()) << "recording this would block as well";
  (void)read(10'001);
  wait_until_written(journal);
  EXPECT_THAT(news_, ElementsAre(HasSubstr("did not answer for 0 s: the job waited")));
}

TEST_F(HangingJournal, ReadersRetryWhileItHangs) {
  JournalThread journal = start(bytes(1, 1), {.wait = Duration{}});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(journal.write(bytes(1000, i)));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(journal.whole());
  (void)read(10'001);
  auto whole = journal.whole();
  for (; !whole; whole = journal.whole()) std::this_thread::yield();
  EXPECT_THAT(*whole, IsEmpty()) << "a pipe cannot be read as a file, and trying does not block";
}

}  // namespace
}  // namespace steelyard::journal_thread_test
