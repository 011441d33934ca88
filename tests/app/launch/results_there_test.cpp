#include "app/launch/results_there.h"

#include <gmock/gmock.h>

#include <fstream>

#include "core/error.h"
#include "tests/support/complaint.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::results_there_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class ResultsThereTest : public testing::Test {
 protected:
  ResultsThereTest() {
    host_.spec.name = "one";
    host_.spec.through = {"env"};
    host_.spec.directory = there_.string();
    host_.reach = reach_of(host_.spec);
    fs::create_directories(there_ / "run/checkpoints/7");
    write("run/result.json", "{}");
    write("run/checkpoints/7/model", "weights");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(there_ / name) << text; }
  [[nodiscard]] ResultsThere results() const { return results_there(host_, "run"); }
  [[nodiscard]] fs::path here(const std::string& name) const { return fs::path(run_.path()) / name; }

  const TemporaryFolder folder_;
  const fs::path there_ = fs::path(folder_.path()) / "there";
  const RunDirectory run_ = RunDirectory::create((fs::path(folder_.path()) / "here").string());
  LaunchHost host_;
};

TEST_F(ResultsThereTest, FilesAndFoldersArriveInTheRunDirectory) {
  fetch(results(), run_);
  EXPECT_EQ(read_text(run_.result()), "{}");
  EXPECT_EQ(read_text(here("checkpoints/7/model")), "weights");
  EXPECT_FALSE(fs::exists(here(".arriving")));
}

// The host is not trusted.
TEST_F(ResultsThereTest, OnlyPlainFilesAreTaken) {
  fs::create_symlink("/etc/passwd", there_ / "run/events.jsonl");
  fs::create_directory_symlink("/tmp", there_ / "run/tensorboard");
  fs::create_directories(there_ / "run/log");
  write("run/log/scheduler.log", "theirs");
  write("run/lock", "theirs");
  std::ofstream(run_.log("scheduler")) << "ours";
  fetch(results(), run_);
  EXPECT_FALSE(fs::exists(fs::symlink_status(here("events.jsonl"))));
  EXPECT_FALSE(fs::exists(fs::symlink_status(here("tensorboard"))));
  EXPECT_FALSE(fs::exists(here("lock")));
  EXPECT_EQ(read_text(run_.log("scheduler")), "ours");
  EXPECT_TRUE(fs::exists(run_.result()));
}

TEST_F(ResultsThereTest, AFailureHasTheCommandToTryByHand) {
  fs::remove_all(there_ / "run");
  const std::string complaint = complaint_of([&] { fetch(results(), run_); });
  EXPECT_THAT(complaint, AllOf(HasSubstr("host 'one' (env), in " + (there_ / "run").string()),
                               HasSubstr("env tar -C"), HasSubstr("| tar -C " + run_.path() + " -xf -`")));
  EXPECT_FALSE(fs::exists(here(".arriving")));
}

TEST_F(ResultsThereTest, ANoteSaysWhereTheResultsAre) {
  EXPECT_EQ(note_of(run_.path()), "");
  note_results_there(run_, results());
  EXPECT_THAT(note_of(run_.path()),
              AllOf(HasSubstr("its results are on host 'one'"), HasSubstr("env tar -C")));
  note_results_here(run_);
  EXPECT_EQ(note_of(run_.path()), "");
  note_results_there(run_, results());
  std::ofstream(run_.rounds()) << "{}\n";
  EXPECT_EQ(note_of(run_.path()), "") << "they were brought by hand";
}

}  // namespace
}  // namespace steelyard::results_there_test
