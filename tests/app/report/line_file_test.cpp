#include "app/report/line_file.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "core/record_parts.h"
#include "tests/support/complaint.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::line_file_test {
namespace {

using ::testing::HasSubstr;

class LineFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string contents() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static Time at(long ms) { return Time{milliseconds(100'000 + ms)}; }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path().string(), path_ = root_ + "/rounds.jsonl";
};

TEST_F(LineFileTest, WritesAtMostTwiceASecond) {
  LineFile file(path_);
  file.add("one", at(0));
  EXPECT_EQ(contents(), "one\n");
  file.add("two", at(100));
  file.add("three", at(499));
  EXPECT_EQ(contents(), "one\n");
  file.add("four", at(500));
  EXPECT_EQ(contents(), "one\ntwo\nthree\nfour\n");
  file.add("five", at(501));
  file.flush(at(502));
  EXPECT_EQ(contents(), "one\ntwo\nthree\nfour\nfive\n");
  EXPECT_EQ(file.trouble(), "");
}

TEST_F(LineFileTest, BeginsANewPartAtItsSize) {
  {
    LineFile file(path_, LineFile::Links::follow, 10);
    for (const char* line : {"one", "two"}) file.add(line, at(0));
    file.flush(at(0));
    EXPECT_EQ(contents(), "one\ntwo\n") << "8 bytes";
    for (const char* line : {"three", "four", "five"}) {
      file.add(line, at(0));
      file.flush(at(0));
    }
    EXPECT_EQ(contents(), "");
    EXPECT_EQ(folder_.text("rounds.1.jsonl"), "one\ntwo\nthree\n");
    EXPECT_EQ(folder_.text("rounds.2.jsonl"), "four\nfive\n");
    EXPECT_EQ(file.trouble(), "");
  }
  LineFile again(path_, LineFile::Links::follow, 10);
  again.add("sixty", at(1000));
  EXPECT_EQ(read_parts(path_), "one\ntwo\nthree\nfour\nfive\nsixty\n");
}

// Very short rounds: 2 MB of lines at one time, and none is lost.
TEST_F(LineFileTest, ManyLinesAreWrittenInBlocks) {
  LineFile file(path_);
  const std::string line(999, 'x');
  for (int i = 0; i < 2000; ++i) file.add(line, at(0));
  file.flush(at(0));
  EXPECT_EQ(file.dropped(), 0U);
  EXPECT_EQ(std::filesystem::file_size(path_), 2'000'000U);
}

TEST_F(LineFileTest, StartsANewLineAfterATruncatedOne) {
  std::ofstream(path_) << "whole\nhal";
  LineFile file(path_);
  file.add("next", at(0));
  EXPECT_EQ(contents(), "whole\nhal\nnext\n");
}

TEST_F(LineFileTest, AFullDiskOnlyDropsLines) {
  LineFile file("/dev/full");
  file.add("one", at(0));
  EXPECT_EQ(file.trouble(), "No space left on device");
  EXPECT_EQ(file.dropped(), 0U);
  const std::string line(1000, 'x');
  for (int i = 0; i < 2000; ++i) file.add(line, at(i));
  EXPECT_GT(file.dropped(), 900U);
  EXPECT_LT(file.dropped(), 1000U);
}

TEST_F(LineFileTest, RefusesSymbolicLinksOnRequest) {
  std::ofstream(root_ + "/other") << "mine\n";
  std::filesystem::create_symlink(root_ + "/other", path_);
  EXPECT_THAT(complaint_of([&] { const LineFile file(path_, LineFile::Links::refuse); }),
              HasSubstr(path_ + ": cannot be opened: it is a symbolic link"));
  EXPECT_EQ(std::filesystem::file_size(root_ + "/other"), 5U);
  LineFile(path_).add("yours", at(0));
  EXPECT_EQ(std::filesystem::file_size(root_ + "/other"), 11U);
}

TEST_F(LineFileTest, OpenErrorsNameTheFile) {
  try {
    const LineFile file(root_ + "/none/rounds.jsonl");
    ADD_FAILURE() << "opened";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::io);
    EXPECT_THAT(failure.what(), HasSubstr(root_ + "/none/rounds.jsonl: cannot be opened: No such file"));
  }
}

}  // namespace
}  // namespace steelyard::line_file_test
