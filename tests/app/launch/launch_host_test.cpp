#include "app/launch/launch_host.h"

#include <gmock/gmock.h>

#include <filesystem>

namespace steelyard::launch_host_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

HostSpec far() {
  HostSpec host;
  host.name = "one";
  host.through = {"reach", "{name}"};
  host.steelyard = "steelyard";
  return host;
}

// Where `steelyard install` puts it for a user: a shell without login does not look there.
TEST(LaunchHost, AProgramWithoutAPathIsFoundInTheUsersFolder) {
  const LaunchHost host = reached(far(), "/here/steelyard", {"attend"});
  EXPECT_EQ(host.program, "steelyard");
  EXPECT_THAT(host.command,
              ElementsAre("reach", "one", "sh", "-c", HasSubstr("$HOME/.local/bin"), "steelyard", "attend"));
}

TEST(LaunchHost, AGivenProgramIsRunAsItIs) {
  HostSpec spec = far();
  spec.steelyard = "/opt/bin/steelyard";
  EXPECT_THAT(reached(spec, "/here/steelyard", {"examine"}).command,
              ElementsAre("reach", "one", "/opt/bin/steelyard", "examine"));
}

TEST(LaunchHost, AHostWithOurFilesRunsThisProgram) {
  HostSpec spec = far();
  spec.shared_files = true;
  spec.steelyard.clear();
  spec.directory = "job";
  EXPECT_THAT(reached(spec, "/here/steelyard", attend_on(spec)).command,
              ElementsAre("reach", "one", "/here/steelyard", "attend", "--directory",
                          (std::filesystem::current_path() / "job").string()));
  spec.through.clear();
  EXPECT_THAT(attend_on(spec), ElementsAre("attend", "--directory", "job"));
  spec.directory.clear();
  EXPECT_THAT(attend_on(spec), ElementsAre("attend"));
}

TEST(LaunchHost, ARefusalOfTheProgramThereIsShownWithoutTheCommand) {
  const LaunchHost host = reached(far(), "/here/steelyard", {"attend"});
  const Failure failure = unreachable(host, "ada", 78 << 8, "steelyard: there is no directory x: create it");
  EXPECT_STREQ(failure.what(), "host 'one' (ada): there is no directory x: create it");
  EXPECT_EQ(failure.code(), ExitCode::configuration);
}

}  // namespace
}  // namespace steelyard::launch_host_test
