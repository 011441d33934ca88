// User mistakes: each gets a message with the next step and its exit code, and nothing else happens.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/support/process_run.h"

namespace steelyard::process_input_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProcessInput : public ProcessTest {};

TEST_F(ProcessInput, UnknownKeyNamesFileLineAndTheNearestKey) {
  const std::string job = write("odd.toml", "[train]\nbatch = 256\nmomentun = 0.9\n[[worker]]\n");
  EXPECT_EQ(run({"train", job}), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("odd.toml:3:1"), HasSubstr("\"momentun\""),
                           HasSubstr("did you mean \"momentum\"?")));
}

TEST_F(ProcessInput, ValueOutOfRangeNamesTheRange) {
  EXPECT_EQ(run(train("run", {"train.lr=-1"})), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("train.lr=-1"), HasSubstr("above 0")));
}

TEST_F(ProcessInput, MissingJobFileIsNamed) {
  EXPECT_EQ(run({"train", path("nowhere.toml")}), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("nowhere.toml"), HasSubstr("cannot be read")));
}

TEST_F(ProcessInput, MissingDataNamesThePackageAndTheKey) {
  const std::string job =
      write("data.toml", "[data]\nname = \"fashion-mnist\"\ndir = \"/nowhere\"\n[[worker]]\n");
  EXPECT_EQ(run({"train", job}), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("/nowhere"), HasSubstr("dataset-fashion-mnist"), HasSubstr("data.dir")));
}

TEST_F(ProcessInput, UnknownModelPolicyAndCommandAreRefused) {
  EXPECT_EQ(run(train("run", {"model.name=lenet"})), 78);
  EXPECT_THAT(said_, HasSubstr("lenet5"));
  EXPECT_EQ(run(train("run", {"cluster.policy=lbbsp"})), 78);
  EXPECT_THAT(said_, HasSubstr("lb-bsp"));
  EXPECT_EQ(run({"trian", job_}), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr("did you mean \"train\"?"), HasSubstr("--help")));
  EXPECT_EQ(run({"train", "--sett"}), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr("unknown option --sett"), HasSubstr("did you mean \"--set\"?")));
  EXPECT_EQ(run({"help", "scenaro"}), 2);
  EXPECT_THAT(said_, HasSubstr("did you mean \"scenario\"?"));
  EXPECT_EQ(run({"help"}), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("Exit status"), HasSubstr("steelyard help job")));
  EXPECT_EQ(run({"help", "compare"}), 0);
  EXPECT_THAT(said_, HasSubstr("Usage: steelyard compare"));
  EXPECT_FALSE(std::filesystem::exists(path("run")));  // nothing was started
}

TEST_F(ProcessInput, PortInUseIsNamed) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(socket, 1), 0);
  ASSERT_EQ(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string endpoint = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  EXPECT_EQ(run({"scheduler", job_, "--listen", endpoint, "--run-dir", path("run")}), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr(endpoint), HasSubstr("another port")));
  close(socket);
}

TEST_F(ProcessInput, PortsThatDoNotExistAreRefused) {
  EXPECT_EQ(run({"scheduler", job_, "--listen", "127.0.0.1:80000", "--run-dir", path("run")}), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr("there is no port 80000"), HasSubstr("from 1 to 65535")));
  EXPECT_EQ(run({"worker", "--scheduler", "127.0.0.1:-1"}), 2);
  EXPECT_THAT(said_, HasSubstr("there is no port -1"));
}

TEST_F(ProcessInput, PlainTextBeyondThisMachineNeedsInsecure) {
  EXPECT_EQ(run({"scheduler", job_, "--listen", "0.0.0.0:*", "--run-dir", path("run")}), 78);
  EXPECT_THAT(said_, HasSubstr("--insecure"));
  EXPECT_EQ(run({"server", "--scheduler", "127.0.0.1:1", "--listen", "0.0.0.0:*"}), 78);
  EXPECT_THAT(said_, HasSubstr("--insecure"));
}

// Names are printed on other terminals, so they are checked before connecting.
TEST_F(ProcessInput, UnprintableAndLongNamesAreRefused) {
  for (const char* role : {"worker", "server"}) {
    EXPECT_EQ(run({role, "--scheduler", "127.0.0.1:1", "--wait", "0", "--name", "red\x1b[31m\n"}), 2) << role;
    EXPECT_THAT(said_, AllOf(HasSubstr("--name 'red?[31m?'"), HasSubstr("give 1 to 64 letters")));
    EXPECT_EQ(run({role, "--scheduler", "127.0.0.1:1", "--wait", "0", "--name", std::string(3000, 'x')}), 2);
    EXPECT_THAT(said_, HasSubstr("3000 letters"));
  }
  const std::string longest(64, 'x');  // the number of the shard is appended
  EXPECT_EQ(run({"server", "--scheduler", "127.0.0.1:1", "--name", longest, "--shards", "2"}), 2);
  EXPECT_THAT(said_, HasSubstr("xxx...' has 66 letters"));
}

TEST_F(ProcessInput, AMissingSchedulerIsReportedAfterTheWait) {
  const std::string missing = "ipc://" + path("missing");
  EXPECT_EQ(run({"worker", "--scheduler", missing, "--wait", "0.3"}), 69);
  EXPECT_THAT(said_, AllOf(HasSubstr(missing), HasSubstr("is it running")));
  EXPECT_EQ(run({"server", "--scheduler", missing, "--wait", "0.3"}), 69);
  EXPECT_THAT(said_, HasSubstr(missing));
}

// Root ignores permissions, but even root cannot create a directory below a file.
TEST_F(ProcessInput, AnImpossibleRunDirectoryIsReportedWithARemedy) {
  write("file", "");
  EXPECT_EQ(run(train("file/run")), 74);
  EXPECT_THAT(said_, AllOf(HasSubstr(path("file/run")), HasSubstr("--run-dir")));
  EXPECT_EQ(run(train("file")), 74);
  EXPECT_EQ(run(train("none", {"train.epochs=1"})), 0);
  EXPECT_EQ(run(train("none")), 74);  // an earlier run is not overwritten
  EXPECT_THAT(said_, AllOf(HasSubstr("not empty"), HasSubstr("--resume")));
}

// As a user with permission to read but not to write.
TEST_F(ProcessInput, AReadOnlyFolderIsReportedWithARemedy) {
  namespace fs = std::filesystem;
  const auto readable = fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                        fs::perms::others_read | fs::perms::others_exec;
  fs::permissions(folder_.path(), readable);
  fs::create_directory(path("locked"));
  fs::permissions(path("locked"), readable & ~fs::perms::owner_write);
  const auto as_nobody = [] {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(99);
  };
  EXPECT_EQ(run(train("locked/run"), as_nobody), 74);
  EXPECT_THAT(said_,
              AllOf(HasSubstr(path("locked/run")), HasSubstr("ermission denied"), HasSubstr("--run-dir")));
  fs::permissions(path("locked"), readable);
}

TEST_F(ProcessInput, ResumeNeedsARunDirectory) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"train", job_}, {"scheduler", job_}, {"launch", "hosts.toml", job_}}) {
    std::vector<std::string> arguments = command;
    arguments.emplace_back("--resume");
    EXPECT_EQ(run(arguments), 2) << command[0];
    EXPECT_THAT(said_, AllOf(HasSubstr("--resume needs --run-dir"), HasSubstr("as in --run-dir runs/job-1")));
  }
}

TEST_F(ProcessInput, ResumeWithoutARunIsRefused) {
  std::vector<std::string> arguments = train("run");
  arguments.emplace_back("--resume");
  EXPECT_EQ(run(arguments), 74);
  EXPECT_THAT(said_, HasSubstr("it has no run"));
}

TEST_F(ProcessInput, AnotherSeedInTheMiddleOfAnEpochIsRefused) {
  ASSERT_EQ(run(train("run", {"train.rounds=40"})), 0);  // an epoch has 32
  const std::string before = text_of(path("run/job.toml"));
  std::vector<std::string> arguments = train("run", {"job.seed=9"});
  arguments.emplace_back("--resume");
  EXPECT_EQ(run(arguments), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("seed = 9 in [job]"), HasSubstr("/run/checkpoints/40"),
                           HasSubstr("seed 1: resume with that")));
  arguments = train("run", {"data.seed=9"});
  arguments.emplace_back("--resume");
  EXPECT_EQ(run(arguments), 78);
  EXPECT_THAT(said_, HasSubstr("other training samples"));
  EXPECT_EQ(text_of(path("run/job.toml")), before);
}

TEST_F(ProcessInput, ResumeFromIsCheckedBeforeAnythingIsCreated) {
  ASSERT_EQ(run(train("run", {"train.rounds=2"})), 0);
  std::vector<std::string> arguments = train("more");
  arguments.insert(arguments.end(), {"--resume-from", path("run")});
  EXPECT_EQ(run(arguments), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr("--resume-from " + path("run")),
                           HasSubstr("as in " + path("run/checkpoints/2"))));
  EXPECT_FALSE(std::filesystem::exists(path("more")));
}

TEST_F(ProcessInput, AFullDiskKeepsThePreviousCheckpoint) {
  const std::string disk = path("disk");
  std::filesystem::create_directory(disk);
  // Room for one 2.1 MB checkpoint of the perceptron, but not for two.
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=3500k") != 0) {
    GTEST_SKIP() << "no right to mount a small disk; run the tests as root";
  }
  const int code = run(train("disk/run", {"model.name=mlp", "train.epochs=2"}));
  EXPECT_EQ(code, 74);
  EXPECT_THAT(said_, AllOf(HasSubstr("No space left"), HasSubstr("free")));
  EXPECT_TRUE(std::filesystem::exists(disk + "/run/checkpoints/32/MANIFEST.json"));
  EXPECT_FALSE(std::filesystem::exists(disk + "/run/checkpoints/64"));
  EXPECT_EQ(umount(disk.c_str()), 0);
}

TEST_F(ProcessInput, NonFiniteValuesStopTrainingAndKeepTheCheckpoint) {
  ASSERT_EQ(run(train("run", {"model.name=mlp", "train.epochs=1"})), 0);
  std::vector<std::string> arguments = train("run", {"model.name=mlp", "train.epochs=2", "train.lr=1e9"});
  arguments.emplace_back("--resume");
  EXPECT_EQ(run(arguments), 1);
  EXPECT_THAT(said_, AllOf(HasSubstr("not finite"), HasSubstr("round 3"),
                           testing::ContainsRegex("worker '(ada|bob)'"), HasSubstr("train.clip_norm"),
                           Not(HasSubstr("exited with code"))));
  EXPECT_TRUE(std::filesystem::exists(path("run/checkpoints/32/MANIFEST.json")));
  EXPECT_THAT(text_of(path("run/result.json")),
              AllOf(HasSubstr("\"non-finite\""), HasSubstr("checkpoints/32")));
}

}  // namespace
}  // namespace steelyard::process_input_test
