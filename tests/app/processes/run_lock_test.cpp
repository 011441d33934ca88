#include "app/processes/run_journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::run_lock_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RunLockTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string refusal() const {
    try {
      const RunLock lock(path_);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::io);
      return failure.what();
    }
    return "";
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path().string();
};

TEST_F(RunLockTest, AllowsOneHolderAndNamesIt) {
  std::optional<RunLock> first(std::in_place, path_);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("run directory " + path_),
                               HasSubstr("process " + std::to_string(getpid()) + " is training in it"),
                               HasSubstr("give --run-dir another name")));
  first.reset();
  EXPECT_EQ(refusal(), "");
}

TEST_F(RunLockTest, OthersSeeWhetherItIsHeld) {
  EXPECT_FALSE(in_use(path_));
  {
    const RunLock lock(path_);
    EXPECT_TRUE(in_use(path_));
  }
  EXPECT_FALSE(in_use(path_)) << "the file stays";
  EXPECT_FALSE(in_use(path_ + "/nowhere"));
}

// As `train` and its scheduler: either of the two holds it.
TEST_F(RunLockTest, AnHeirHoldsItAfterTheFirstIsGone) {
  std::optional<RunLock> first(std::in_place, path_);
  const pid_t heir = fork();
  if (heir == 0) {
    const RunLock mine(path_, first->descriptor());
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(heir, &status, WUNTRACED), heir);
  first.reset();
  EXPECT_THAT(refusal(), HasSubstr("process " + std::to_string(heir) + " is training in it"));
  kill(heir, SIGKILL);
  waitpid(heir, &status, 0);
  EXPECT_EQ(refusal(), "") << "the kernel releases it";
}

TEST_F(RunLockTest, InvalidLocksThrow) {
  EXPECT_THROW(RunLock(path_ + "/none"), Failure);
  EXPECT_THROW(RunLock(path_, 9999), Failure);
}

}  // namespace
}  // namespace steelyard::run_lock_test
