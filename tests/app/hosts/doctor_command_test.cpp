// `steelyard doctor` as a process: with shells and with network namespaces as hosts.
#include "app/hosts/doctor_command.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "app/hosts/line_speed.h"
#include "core/json.h"
#include "tests/support/namespaces.h"
#include "tests/support/process_run.h"

namespace steelyard::doctor_command_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DoctorTest : public ProcessTest {
 protected:
  int doctor(const std::string& hosts_text, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"doctor", write("hosts.toml", hosts_text)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, [this] {
      if (chdir(directory_.c_str()) != 0) _exit(125);
    });
  }
  // Two hosts on this machine, which answer through a command.
  [[nodiscard]] std::string hosts(const std::string& of_two = "", const std::string& of_worker = "",
                                  const std::string& through = R"(["env", "WHERE={name}"])") const {
    return "[defaults]\nthrough = " + through +
           "\nshared_files = true\n[[host]]\nname = \"one\"\naddress = \"127.0.0.1\"\nscheduler = true\nport "
           "= " +
           port_ + "\nservers = 1\n[[host]]\nname = \"two\"\naddress = \"127.0.0.1\"\n" + of_two +
           "[[host.worker]]\nname = \"ada\"\n" + of_worker;
  }
  [[nodiscard]] Json json() const { return parse_json(text_of(path("doctor.json"))); }

  const std::string port_ = free_port();
};

TEST_F(DoctorTest, HealthyHostsPass) {
  ASSERT_EQ(doctor(hosts(), {job_, "--json", "doctor.json"}), 0) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("env WHERE=one"), HasSubstr("all that `steelyard launch` needs is there")));
  const Json found = json();
  EXPECT_EQ(found["ok"], true);
  ASSERT_EQ(found["hosts"].size(), 2U);
  EXPECT_EQ(found["hosts"][0]["ports"], true);
  EXPECT_EQ(found["hosts"][1]["data"], true);
  EXPECT_TRUE(found["hosts"][1]["ports"].is_null()) << "it has no server";
  EXPECT_GT(found["hosts"][1]["memory_needed_bytes"], 0);
  EXPECT_GT(found["hosts"][0]["disk_needed_bytes"], 0);
  ASSERT_EQ(found["lines"].size(), 2U) << "to the scheduler and to the server";
  EXPECT_EQ(found["lines"][0]["endpoint"], "127.0.0.1:" + port_);
  EXPECT_GT(found["lines"][1]["there_bytes_s"], 0);
  EXPECT_FALSE(fs::exists(path("runs"))) << "nothing is left";
}

TEST_F(DoctorTest, WithoutAJobHostsAreStillChecked) {
  ASSERT_EQ(doctor(hosts()), 0) << said_;
  EXPECT_THAT(said_, Not(HasSubstr("(need)")));
}

TEST_F(DoctorTest, ProblemsOfAllHostsAreReportedAtOnce) {
  const LineEnd taken({"127.0.0.1", port_}, "x");
  EXPECT_EQ(doctor(hosts("directory = \"nowhere\"\n"), {job_}), 78) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("host 'one': cannot listen at 127.0.0.1:" + port_), HasSubstr("ss -ltnp"),
                    HasSubstr("host 'two': there is no directory"), HasSubstr("create it")));
}

TEST_F(DoctorTest, DataOfAWorkerIsOpenedOnItsHost) {
  EXPECT_EQ(doctor(hosts("", "data = { dirr = \"x\" }\n"), {job_, "--json", "doctor.json"}), 78) << said_;
  EXPECT_THAT(said_, HasSubstr("host 'two': worker 'ada': data set 'synthetic' has no option 'dirr'"));
  EXPECT_EQ(json()["hosts"][1]["data"], false);
  EXPECT_EQ(json()["hosts"][0]["data"], true);
}

TEST_F(DoctorTest, AHostThatCannotBeReachedIsNamedWithTheOthers) {
  EXPECT_EQ(
      doctor(hosts("", "",
                   R"(["sh", "-c", "[ {name} = one ] && exec {command}; echo no route >&2; exit 255"])")),
      69)
      << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("no answer"), HasSubstr("host 'two'"), HasSubstr("no route"),
                           HasSubstr("make `sh -c")));
}

TEST_F(DoctorTest, AMissingProgramAndAnotherReleaseAreNamed) {
  const std::string other = (fs::read_symlink("/proc/self/exe").parent_path() / "steelyard_other").string();
  EXPECT_EQ(doctor(hosts("steelyard = \"" + other + "\"\n")), 76) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("host 'two'"), HasSubstr("steelyard install HOSTS")));
  const std::string hosts_text =
      "[[host]]\nname = \"one\"\nthrough = [\"env\"]\naddress = \"127.0.0.1\"\nsteelyard = "
      "\"/no/steelyard\"\n"
      "scheduler = true\nservers = 1\n[[host.worker]]\n";
  EXPECT_EQ(doctor(hosts_text), 78) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("no program '/no/steelyard' there"), HasSubstr("steelyard install HOSTS")));
}

TEST_F(DoctorTest, AScriptMustBeOnTheHostsOfWorkers) {
  EXPECT_EQ(doctor(hosts(), {"train.py"}), 78) << said_;
  EXPECT_THAT(said_, HasSubstr("host 'two': there is no script train.py there"));
  EXPECT_THAT(said_, Not(HasSubstr("host 'one'")));
  write("train.py", "");
  EXPECT_EQ(doctor(hosts(), {"train.py"}), 0) << said_;
}

TEST_F(DoctorTest, ErrorsOfTheFilesComeFirst) {
  EXPECT_EQ(doctor("[[host]]\n", {job_}), 78);
  EXPECT_THAT(said_, HasSubstr("no host has the scheduler"));
  EXPECT_EQ(doctor(hosts(), {job_, "--set", "train.lr=-1"}), 78);
  EXPECT_THAT(said_, HasSubstr("train.lr"));
}

TEST_F(DoctorTest, ACutLineBetweenNamespacesIsFound) {
  const Namespaces made;
  if (!made.ready()) GTEST_SKIP() << no_namespaces;
  const std::string text =
      "[[host]]\nname = \"hub\"\nnetns = \"" + Namespaces::name(1) +
      "\"\naddress = \"10.77.2.1\"\nscheduler = true\nservers = 1\n[[host]]\nname = \"left\"\n"
      "netns = \"" +
      Namespaces::name(2) + "\"\naddress = \"10.77.2.2\"\n[[host.worker]]\n";
  ASSERT_EQ(doctor(text, {job_}), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("10.77.2.1:7070"));
  ASSERT_TRUE(Namespaces::cut(2, 7070));
  EXPECT_EQ(doctor(text, {job_}), 69) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("host 'left' cannot connect to host 'hub' at 10.77.2.1:7070"),
                           HasSubstr("no answer within 5 s"), HasSubstr("firewall")));
}

}  // namespace
}  // namespace steelyard::doctor_command_test
