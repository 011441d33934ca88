// `steelyard render` on the example of engines/kubernetes: its whole text, and what it refuses. After an
// intended change, run with STEELYARD_REWRITE=1 in the environment to rewrite the texts, and review the
// difference.
#include "app/render/render_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/complaint.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::render_command_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path() / "../../..";

// The texts show the paths of the files as they are given, so they must not depend on this machine.
class RenderCommandTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::current_path(root); }
  void TearDown() override { std::filesystem::current_path(before_); }

  // The error for a hosts file; `form` of manifests unless given.
  std::string refusal(const std::string& hosts, const std::string& form = "jobset") {
    command_.form = form;
    command_.hosts_file = folder_.write("hosts.toml", std::string_view(hosts)).string();
    return complaint_of([&] { (void)rendered(command_); });
  }

  RenderCommand command_{.form = "jobset",
                         .hosts_file = "engines/kubernetes/hosts.toml",
                         .job_file = "examples/jobs/quick.toml"};
  const TemporaryFolder folder_;

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

TEST_F(RenderCommandTest, TheTextsAreTheWrittenOnes) {
  for (const std::string& form : render_forms) {
    command_.form = form;
    const std::string now = rendered(command_);
    const std::filesystem::path file =
        root / "tests/app/render/golden" / (form + (form == "slurm" ? ".sh" : ".yaml"));
    if (std::getenv("STEELYARD_REWRITE") != nullptr) std::ofstream(file) << now;
    std::ifstream in(file);
    EXPECT_EQ(now, std::string(std::istreambuf_iterator<char>(in), {})) << file;
  }
}

TEST_F(RenderCommandTest, TheTextNamesItsCommand) {
  command_.overrides = {"train.epochs=3"};
  command_.grace_s = 90;
  EXPECT_THAT(rendered(command_), HasSubstr("#   steelyard render jobset --set=train.epochs=3 --grace=90 "
                                            "engines/kubernetes/hosts.toml examples/jobs/quick.toml\n"));
}

TEST_F(RenderCommandTest, SettingsReachTheProcesses) {
  command_.overrides = {"train.epochs=3"};
  EXPECT_THAT(rendered(command_), HasSubstr("    epochs = 3\n"));
  command_.form = "slurm";
  EXPECT_THAT(rendered(command_), HasSubstr("--set train.epochs=3"));
}

TEST_F(RenderCommandTest, AScriptBringsItsArgumentsAndNeedsNoFileHere) {
  command_.job_file = "/opt/app/train.py";
  command_.script.arguments = {"--width", "64"};
  EXPECT_THAT(rendered(command_), AllOf(HasSubstr("- /opt/app/train.py\n"), HasSubstr("- --width\n"),
                                        HasSubstr("- \"64\"\n"), Not(HasSubstr("ConfigMap"))));
  command_.form = "slurm";
  EXPECT_THAT(rendered(command_), HasSubstr("/opt/app/train.py --width 64"));
}

TEST_F(RenderCommandTest, NamesOfObjectsComeFromTheJob) {
  command_.overrides = {"job.name=My_Job.2"};
  EXPECT_THAT(rendered(command_), HasSubstr("  name: my-job-2\n"));
  command_.name = "other";
  EXPECT_THAT(rendered(command_), HasSubstr("  name: other\n"));
  command_.name = "Other";
  EXPECT_THAT(complaint_of([&] { (void)rendered(command_); }),
              AllOf(HasSubstr("--name \"Other\""), HasSubstr("lower-case letters")));
  command_.name.clear();
  command_.overrides = {"job.name=an-extremely-long-name-of-a-job"};
  EXPECT_THAT(complaint_of([&] { (void)rendered(command_); }), HasSubstr("give --name with at most 25"));
}

TEST_F(RenderCommandTest, ErrorsOfTheHostsFileHaveTheirPlace) {
  const std::string rest = "scheduler = true\nservers = 1\n[[host.worker]]\n";
  EXPECT_THAT(
      refusal("[[host]]\nname = \"Lion_1\"\n" + rest),
      AllOf(HasSubstr("hosts.toml:2:"), HasSubstr("host \"Lion_1\""), HasSubstr("lower-case letters")));
  EXPECT_THAT(
      refusal("[[host]]\ncount = 2\n" + rest),
      AllOf(HasSubstr("hosts.toml:2:"), HasSubstr("scheduler"), HasSubstr("a [[host]] of their own")));
  EXPECT_THAT(refusal("[[host]]\nmemory = \"8 GB\"\n" + rest),
              AllOf(HasSubstr("hosts.toml:2:"), HasSubstr("memory = \"8 GB\""), HasSubstr("\"8Gi\"")));
  EXPECT_THAT(refusal("[[host]]\nnode_selector = \"pool\"\n" + rest), HasSubstr("hosts.toml:2:"));
  EXPECT_THAT(refusal("[[host]]\nvolumes = \"data\"\n" + rest), HasSubstr("hosts.toml:2:"));
  EXPECT_THAT(refusal("[[host]]\nimage = \"a b\"\n" + rest), HasSubstr("hosts.toml:2:"));
  EXPECT_THAT(refusal("[[host]]\nnode_selectr = \"a=b\"\n" + rest),
              AllOf(HasSubstr("hosts.toml:2:"), HasSubstr("did you mean \"node_selector\"?")));
}

TEST_F(RenderCommandTest, ErrorsOfTheJobAreFoundHere) {
  command_.job_file = folder_.write("job.toml", std::string_view("[train]\nlr = \"fast\"\n")).string();
  EXPECT_THAT(complaint_of([&] { (void)rendered(command_); }),
              AllOf(HasSubstr("job.toml:2:"), HasSubstr("lr")));
  command_.job_file = folder_.path("none.toml");
  EXPECT_THAT(complaint_of([&] { (void)rendered(command_); }), HasSubstr("none.toml"));
}

// servers = "workers": no group has servers.
TEST_F(RenderCommandTest, GpuWorkersMayBeTheServers) {
  command_.hosts_file = folder_
                            .write("hosts.toml", std::string_view(R"([[host]]
name = "lead"
scheduler = true
gpus = 1
[[host.worker]]
device = "cuda:0"
)"))
                            .string();
  EXPECT_THAT(complaint_of([&] { (void)rendered(command_); }), HasSubstr("no host has a server"));
  command_.overrides = {"cluster.servers=workers"};
  EXPECT_THAT(rendered(command_), AllOf(HasSubstr("servers = \"workers\""), HasSubstr("device = \"cuda:0\""),
                                        Not(HasSubstr("--role=server"))));
  command_.form = "slurm";
  EXPECT_THAT(rendered(command_), HasSubstr("--set cluster.servers=workers"));
}

TEST_F(RenderCommandTest, StorageHasAUnit) {
  command_.storage = "10";
  EXPECT_THAT(complaint_of([&] { (void)rendered(command_); }),
              AllOf(HasSubstr("--storage 10"), HasSubstr("10Gi")));
}

}  // namespace
}  // namespace steelyard::render_command_test
