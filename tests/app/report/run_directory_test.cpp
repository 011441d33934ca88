#include "app/report/run_directory.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"

namespace steelyard::run_directory_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

class RunDirectoryTest : public ::testing::Test {
 protected:
  template <class Call>
  static std::string refusal(const Call& call) {
    try {
      call();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::io);
      return failure.what();
    }
    return "accepted";
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path().string();
};

TEST_F(RunDirectoryTest, TakesTheFirstFreeNumber) {
  const std::string runs = root_ + "/a/runs";
  EXPECT_EQ(RunDirectory::next(runs, "job").path(), runs + "/job-1");
  EXPECT_EQ(RunDirectory::next(runs, "job").path(), runs + "/job-2");
  EXPECT_EQ(RunDirectory::next(runs, "other").path(), runs + "/other-1");
  fs::remove_all(runs + "/job-1");
  std::ofstream(runs + "/job-3") << "a file";
  EXPECT_EQ(RunDirectory::next(runs, "job").path(), runs + "/job-1");
  EXPECT_EQ(RunDirectory::next(runs, "job").path(), runs + "/job-4");
}

TEST_F(RunDirectoryTest, HasPathsOfFilesAndDirectories) {
  const RunDirectory run = RunDirectory::create(root_ + "/x/y");
  EXPECT_EQ(run.job(), root_ + "/x/y/job.toml");
  EXPECT_EQ(run.rounds(), root_ + "/x/y/rounds.jsonl");
  EXPECT_EQ(run.result(), root_ + "/x/y/result.json");
  EXPECT_EQ(run.log("worker-0"), root_ + "/x/y/log/worker-0.log");
  EXPECT_TRUE(fs::is_directory(run.checkpoints()));
  EXPECT_TRUE(fs::is_directory(root_ + "/x/y/log"));
}

TEST_F(RunDirectoryTest, AnExistingEmptyDirectoryIsUsed) {
  EXPECT_EQ(RunDirectory::create(root_).path(), root_);
  EXPECT_THAT(refusal([&] { RunDirectory::create(root_); }),
              AllOf(HasSubstr(root_ + ": it is not empty"), HasSubstr("--resume")));
}

TEST_F(RunDirectoryTest, ADirectoryForSeveralRunsMustBeNewOrEmpty) {
  const std::string given = folder_.path("several");
  EXPECT_EQ(fresh_directory(given, "compare-job"), given);
  EXPECT_EQ(fresh_directory(given, "compare-job"), given) << "it is still empty";
  write_text(given + "/a", "");
  EXPECT_EQ(refusal([&] { (void)fresh_directory(given, "compare-job"); }),
            "run directory " + given + ": it is not empty: give --run-dir a new name");
}

TEST_F(RunDirectoryTest, OpensOnlyDirectoriesOfRuns) {
  EXPECT_THAT(refusal([&] { RunDirectory::open(root_); }), HasSubstr(root_ + ": it has no run"));
  EXPECT_THAT(refusal([&] { RunDirectory::open(root_ + "/none"); }), HasSubstr("it has no run"));
  write_text(root_ + "/job.toml", "[[worker]]\n");
  EXPECT_EQ(RunDirectory::open(root_).path(), root_);
}

TEST_F(RunDirectoryTest, ErrorsNameTheCauseAndTheRemedy) {
  const std::string file = root_ + "/file";
  std::ofstream(file) << "text";
  EXPECT_THAT(refusal([&] { RunDirectory::create(file); }), HasSubstr(file + ": a file has this name"));
  EXPECT_THAT(refusal([&] { RunDirectory::create(file + "/below"); }),
              AllOf(HasSubstr("run directory " + file + "/below: Not a directory"), HasSubstr("--run-dir")));
  EXPECT_THAT(refusal([&] { RunDirectory::next(file, "job"); }), HasSubstr("Not a directory"));
  EXPECT_THAT(refusal([&] { RunDirectory::create("/proc/steelyard"); }),
              AllOf(HasSubstr("/proc/steelyard: "), HasSubstr("give --run-dir a place where you may write")));
}

TEST_F(RunDirectoryTest, TextsAreReplacedAtomically) {
  const std::string path = root_ + "/job.toml";
  write_text(path, "one");
  write_text(path, "two");
  EXPECT_EQ(read_text(path), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1);
  EXPECT_THAT(refusal([&] { write_text(root_ + "/none/job.toml", "x"); }),
              AllOf(HasSubstr(root_ + "/none/job.toml: cannot be written"), HasSubstr("No such file")));
  // A file cannot replace a directory of the same name; the directory stays.
  fs::create_directories(root_ + "/result.json/x");
  EXPECT_THAT(refusal([&] { write_text(root_ + "/result.json", "x"); }), HasSubstr("cannot be written"));
  EXPECT_FALSE(fs::exists(root_ + "/result.json.new"));
}

TEST(Verdict, IsWrittenWithTheExitCode) {
  Verdict v;
  v.outcome = Outcome::non_finite;
  v.text = "round 7 of \"a\"";
  v.seconds = 2.5;
  v.rounds = 7;
  v.samples_per_second = 1000;
  const auto json = nlohmann::json::parse(verdict_json(v));
  EXPECT_EQ(json["outcome"], "non-finite");
  EXPECT_EQ(json["text"], "round 7 of \"a\"");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["rounds"], 7);
  EXPECT_EQ(json["samples_per_second"], 1000);
  EXPECT_TRUE(json["accuracy"].is_null());
  EXPECT_TRUE(json["percent_of_ideal"].is_null());
  EXPECT_TRUE(json["efficiency"].is_null());
  v.checkpoint = "\xff";
  EXPECT_TRUE(nlohmann::json::accept(verdict_json(v)));
}

TEST(Verdict, EachOutcomeHasItsExitCode) {
  EXPECT_EQ(exit_code(Outcome::finished), ExitCode::ok);
  EXPECT_EQ(exit_code(Outcome::interrupted), ExitCode::temporary);
  EXPECT_EQ(exit_code(Outcome::server_lost), ExitCode::unreachable);
  EXPECT_EQ(exit_code(Outcome::storage), ExitCode::io);
  EXPECT_EQ(exit_code(Outcome::non_finite), ExitCode::failed);
  EXPECT_EQ(exit_code(Outcome::running), ExitCode::failed);
}

}  // namespace
}  // namespace steelyard::run_directory_test
