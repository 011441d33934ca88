// Input files: what is read, and errors for files that cannot be read.
#include "app/config/job_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::input_file_test {
namespace {

const InputKind kind{"list", 1, "look for it"};

std::string refusal(const std::string& path) {
  try {
    read_input(path, kind);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "";
}

TEST(InputFile, IsReadByteForByte) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_input(folder.write("empty", "").string(), kind), "");
  const std::string bytes("a\r\n\0b", 5);
  EXPECT_EQ(read_input(folder.write("some", bytes).string(), kind), bytes);
  const std::string all(1 << 20, '#');
  EXPECT_EQ(read_input(folder.write("all", all).string(), kind), all) << "the largest permitted size";
}

TEST(InputFile, UnreadableFilesAreReportedWithARemedy) {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.path("nowhere"), folder.path().string()}) {
    EXPECT_EQ(refusal(path), path + ": cannot be read: look for it");
  }
  const std::string large = folder.write("large", std::string((1 << 20) + 1, '#')).string();
  EXPECT_EQ(refusal(large),
            large + ": has more than 1 MB, the limit of this kind of file (list): look for it");
}

}  // namespace
}  // namespace steelyard::input_file_test
