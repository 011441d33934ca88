// Further jobs of scripts; tests/app/cli/process_script_test.cpp runs them.
#include "app/launch/further_jobs.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/temporary_folder.h"

namespace steelyard::further_jobs_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

TEST(FurtherJobs, NoneStartsWithoutARequest) {
  const TemporaryFolder folder;
  {
    FurtherJobs jobs(FurtherRuns{folder.path().string(), "train", "", false, {}});
    EXPECT_TRUE(fs::is_directory(folder.path("next"))) << "where scripts request one";
    jobs.look(2);
    EXPECT_FALSE(jobs.running());
  }
  EXPECT_FALSE(fs::exists(folder.path("next")));
}

TEST(FurtherJobs, NoneStartsForScriptsThatHaveExited) {
  const TemporaryFolder folder;
  FurtherJobs jobs(FurtherRuns{folder.path().string(), "train", "", false, {}});
  fs::create_directory(folder.path("next/2"));
  jobs.look(0);
  jobs.stop();
  jobs.look(2);
  EXPECT_FALSE(jobs.running());
  EXPECT_EQ(jobs.code(), 0);
}

TEST(FurtherJobs, TheyHaveTheOptionsOfTheFirst) {
  LaunchOptions options;
  options.overrides = {"train.lr=0.1"};
  options.exchange = "sockets";
  options.results.directory = "runs/a";
  options.quiet = true;
  const FurtherRuns runs = further_runs(options, "train", "/tmp/s");
  EXPECT_THAT(runs.arguments,
              ElementsAre("--set", "train.lr=0.1", "--exchange", "sockets", "--rotate-mb", "256", "--quiet"));
  EXPECT_EQ(runs.directory, "runs/a");
}

}  // namespace
}  // namespace steelyard::further_jobs_test
