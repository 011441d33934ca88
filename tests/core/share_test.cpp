#include "core/share.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace steelyard::share_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A build has the files of examples/ where an installation has them.
TEST(SharedFile, IsFoundBesideTheProgram) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const auto found = shared_file("jobs/quick.toml");
  EXPECT_TRUE(std::filesystem::is_regular_file(found));
  EXPECT_EQ(found, self.parent_path().parent_path() / "share/steelyard/jobs/quick.toml");
}

TEST(SharedFile, AMissingOneIsNamedWithTheRemedy) {
  try {
    shared_file("jobs/none.toml");
    FAIL() << "no failure";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("share/steelyard/jobs/none.toml does not exist"),
                                      HasSubstr("install it again")));
  }
}

}  // namespace
}  // namespace steelyard::share_test
