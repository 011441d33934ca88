// The number of processes that ended at the same record of a journal.
#include "app/processes/journal_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/temporary_folder.h"

namespace steelyard::replay_mark_test {
namespace {

class ReplayMarkTest : public testing::Test {
 protected:
  // In a child process, which is killed while it acts on the last of these records.
  void end_at(std::initializer_list<std::size_t> begins) const {
    const pid_t child = fork();
    if (child == 0) {
      ReplayMark mark(path_);
      for (const std::size_t begin : begins) mark.acting(begin);
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
  }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "mark").string();
};

TEST_F(ReplayMarkTest, CountsProcessesThatEndedAtARecord) {
  EXPECT_FALSE(ReplayMark(path_).ended());
  end_at({10, 20, 30});
  end_at({10, 20, 30});
  const auto ended = ReplayMark(path_).ended();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->begin, 30U);
  EXPECT_EQ(ended->times, ReplayMark::enough);
}

TEST_F(ReplayMarkTest, AnotherRecordRestartsTheCount) {
  end_at({10, 20, 30});
  end_at({10, 20, 30, 40});
  const auto ended = ReplayMark(path_).ended();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->begin, 40U);
  EXPECT_EQ(ended->times, 1U);
}

// A process killed at an earlier record has not reached the counted one.
TEST_F(ReplayMarkTest, AKillAtAnEarlierRecordKeepsTheCount) {
  end_at({10, 20, 30});
  end_at({10, 20});
  const auto ended = ReplayMark(path_).ended();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->begin, 30U);
}

TEST_F(ReplayMarkTest, ACompletedReplayRemovesTheMark) {
  end_at({10, 20});
  {
    ReplayMark mark(path_);
    mark.acting(20);
    mark.done();
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ReplayMarkTest, WithoutAFileNothingIsMarked) {
  ReplayMark mark((folder_.path() / "no" / "such").string());
  mark.acting(3);
  EXPECT_FALSE(mark.ended());
  mark.done();
}

}  // namespace
}  // namespace steelyard::replay_mark_test
