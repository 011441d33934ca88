#include "app/processes/processes.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::roles_test {
namespace {

namespace fs = std::filesystem;

// The one place that decides where results go, for every command that starts a run.
class ChooseRunDirectory : public testing::Test {
 protected:
  ChooseRunDirectory() { fs::current_path(folder_.path()); }
  ~ChooseRunDirectory() override { fs::current_path(before_); }

  static RunDirectory chosen(const ResultOptions& options) { return choose_run_directory(options, "job"); }
  static ResultOptions in(const std::string& directory) {
    ResultOptions options;
    options.directory = directory;
    return options;
  }
  static ResultOptions resumed(const std::string& directory) {
    ResultOptions options = in(directory);
    options.resume = true;
    return options;
  }
  static ResultOptions ready(const std::string& directory) {
    ResultOptions options = in(directory);
    options.ready = true;
    return options;
  }

  const fs::path before_ = fs::current_path();
  const TemporaryFolder folder_;
};

TEST_F(ChooseRunDirectory, WithoutANameTheNextNumberIsUsed) {
  EXPECT_EQ(chosen({}).path(), "runs/job-1");
  EXPECT_EQ(chosen({}).path(), "runs/job-2");
}

TEST_F(ChooseRunDirectory, ANamedDirectoryMustBeNew) {
  EXPECT_EQ(chosen(in("mine")).path(), "mine");
  folder_.write("mine/rounds.jsonl", "{}");
  EXPECT_THROW(chosen(in("mine")), Failure);
}

TEST_F(ChooseRunDirectory, ResumingNeedsARun) {
  EXPECT_THROW(chosen(resumed("mine")), Failure);
  EXPECT_THROW(chosen(ready("mine")), Failure);
  chosen(in("mine"));
  folder_.write("mine/job.toml", "");
  EXPECT_EQ(chosen(resumed("mine")).path(), "mine");
  EXPECT_EQ(chosen(ready("mine")).path(), "mine") << "the launcher has made it";
}

TEST_F(ChooseRunDirectory, ResumingFromAnotherRunStartsANewOne) {
  ResultOptions options;
  options.resume_from = "runs/old/checkpoints/7";
  EXPECT_EQ(chosen(options).path(), "runs/job-1");
}

}  // namespace
}  // namespace steelyard::roles_test
