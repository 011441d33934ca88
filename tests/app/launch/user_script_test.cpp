#include "app/launch/user_script.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/launch/launch_plan.h"
#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::script_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ScriptTest : public testing::Test {
 protected:
  ScriptTest() {
    options_.script = ScriptOptions{"jobs/train.py", {"--lr", "0.1"}, 2, ""};
    unsetenv("STEELYARD_PYTHON");
  }
  ~ScriptTest() override { unsetenv("STEELYARD_PYTHON"); }

  [[nodiscard]] LaunchPlan plan(bool with_workers = true) const {
    const JobFile job = job_for_script(options_);
    return make_launch_plan(options_, this_machine(job, with_workers), job, "/bin/steelyard", "/tmp/s");
  }
  [[nodiscard]] static const LaunchProcess& called(const LaunchPlan& plan, const std::string& name) {
    return *std::ranges::find(plan.processes, name, &LaunchProcess::name);
  }
  template <class Work>
  static std::string refusal(const Work& work, ExitCode code = ExitCode::configuration) {
    try {
      work();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), code);
      return failure.what();
    }
    return "it was not refused";
  }
  [[nodiscard]] std::string file(const std::string& name,
                                 fs::perms permissions = fs::perms::owner_all) const {
    const fs::path path = folder_.write(name, std::string_view("#!/bin/sh\n"));
    fs::permissions(path, permissions);
    return path.string();
  }

  const TemporaryFolder folder_;
  LaunchOptions options_;
};

TEST_F(ScriptTest, TheCommandLineDefinesTheJob) {
  options_.overrides = {"cluster.servers=3", "train.lr=0.25", "worker.worker-1.simulate_slowdown=4"};
  const JobFile file = job_for_script(options_);
  EXPECT_EQ(file.job.name, "train");
  EXPECT_EQ(file.job.model, "external");
  EXPECT_EQ(file.job.shards, 3U);
  EXPECT_EQ(file.job.schedule.base, 0.25);
  ASSERT_EQ(file.worker_specs.size(), 2U);
  EXPECT_EQ(file.worker_specs[0].name, "worker-0");
  EXPECT_EQ(file.worker_specs[1].simulate_slowdown, "4");
  EXPECT_EQ(parse_job(file.resolved, "resolved").resolved, file.resolved) << "the scheduler reads it again";
  options_.overrides.clear();
  EXPECT_EQ(job_for_script(options_).servers, 1U);
}

TEST_F(ScriptTest, ScriptsHostNoShards) {
  options_.overrides = {"cluster.servers=workers", "worker.worker-0.device=cuda:0"};
  EXPECT_THAT(refusal([&] { (void)job_for_script(options_); }), HasSubstr("host no shards"));
}

TEST_F(ScriptTest, TheJobIsNamedAfterTheScript) {
  const std::vector<std::pair<std::string, std::string>> names{{"", "job"},
                                                               {"a/b c.py", "b_c"},
                                                               {"-x.sh", "_x"},
                                                               {"run.v2.sh", "run.v2"},
                                                               {std::string(80, 'x'), std::string(64, 'x')}};
  for (const auto& [path, name] : names) {
    options_.script->path = path;
    EXPECT_EQ(job_for_script(options_).job.name, name) << path;
  }
  options_.overrides = {"job.name=mine"};
  EXPECT_EQ(job_for_script(options_).job.name, "mine");
}

TEST_F(ScriptTest, AModelOptionIsRefused) {
  options_.overrides = {"model.name=lenet5"};
  EXPECT_THAT(refusal([&] { (void)job_for_script(options_); }, ExitCode::usage),
              HasSubstr("model.name=lenet5"));
}

TEST_F(ScriptTest, PythonRunsPyFiles) {
  EXPECT_THAT(command_of(*options_.script), ElementsAre("python3", "-u", "jobs/train.py", "--lr", "0.1"));
  setenv("STEELYARD_PYTHON", "/opt/python", 1);
  EXPECT_EQ(command_of(*options_.script).front(), "/opt/python");
  EXPECT_THAT(command_of({"train.sh", {"x"}, 1, ""}), ElementsAre("./train.sh", "x"))
      << "a file is not looked up in PATH";
  EXPECT_THAT(command_of({"/bin/train", {}, 1, ""}), ElementsAre("/bin/train"));
}

TEST_F(ScriptTest, WorkersAreConfiguredByTheEnvironment) {
  HostWorker worker;
  worker.spec.name = "ada";
  worker.spec.device = "auto";
  EXPECT_THAT(environment_of(worker, "box:7070", "auto"),
              ElementsAre("STEELYARD=box:7070", "STEELYARD_NAME=ada"));
  worker.spec.device = "cuda:1";
  worker.spec.simulate_slowdown = "2, 6@10";
  worker.spec.threads = "3";
  EXPECT_THAT(environment_of(worker, "box:7070", "sockets"),
              ElementsAre("STEELYARD=box:7070", "STEELYARD_NAME=ada", "STEELYARD_SIMULATE_SLOWDOWN=2, 6@10",
                          "STEELYARD_DEVICE=cuda:1", "STEELYARD_EXCHANGE=sockets", "OMP_NUM_THREADS=3"));
  for (const char* shared : {"1", "auto"}) {
    worker.spec.threads = shared;
    EXPECT_THAT(environment_of(worker, "box:7070", "auto"), Not(Contains(HasSubstr("OMP")))) << shared;
  }
}

TEST_F(ScriptTest, OptionsThatScriptsCannotGetAreRefused) {
  const std::vector<std::pair<std::string, void (*)(HostWorker&)>> cases{
      {"simulate_cpu_share = 0.5", [](HostWorker& it) { it.spec.simulate_cpu_share = "0.5"; }},
      {"max_batch = 8", [](HostWorker& it) { it.spec.max_batch = 8; }},
      {"precision = \"bf16\"", [](HostWorker& it) { it.spec.precision = "bf16"; }},
      {"data", [](HostWorker& it) { it.data_options = {"dir=/x"}; }}};
  for (const auto& [part, change] : cases) {
    HostWorker worker;
    worker.spec.name = "ada";
    change(worker);
    EXPECT_THAT(refusal([&] { (void)environment_of(worker, "box:7070", "auto"); }),
                AllOf(HasSubstr("worker 'ada': " + part), HasSubstr("leave it out")));
  }
}

TEST_F(ScriptTest, ThePlanHasTheProcessesOfTheScript) {
  options_.overrides = {"train.lr=0.25", "worker.worker-1.simulate_slowdown=4", "worker.worker-1.device=cpu"};
  const LaunchPlan it = plan();
  EXPECT_EQ(it.roles_on("here"), "scheduler, server-0, worker-0, worker-1");
  EXPECT_THAT(shell_line(called(it, "scheduler").arguments),
              AllOf(HasSubstr("--set train.lr=0.25"), Not(HasSubstr("worker-1"))))
      << "worker settings are in the job; the rest overrides the script";
  EXPECT_THAT(called(it, "scheduler").input, HasSubstr("simulate_slowdown = 4"));
  const LaunchProcess& slow = called(it, "worker-1");
  EXPECT_TRUE(slow.is_script());
  EXPECT_EQ(slow.program, "python3");
  EXPECT_THAT(slow.arguments, ElementsAre("-u", "jobs/train.py", "--lr", "0.1"));
  EXPECT_THAT(slow.environment, ElementsAre("STEELYARD=ipc:///tmp/s/scheduler", "STEELYARD_NAME=worker-1",
                                            "STEELYARD_SIMULATE_SLOWDOWN=4", "STEELYARD_DEVICE=cpu"));
  EXPECT_EQ(slow.sharing, 2U);
  EXPECT_FALSE(called(it, "server-0").is_script());
}

TEST_F(ScriptTest, WorkersThatChooseTheirDeviceGetTheirPlaceOnTheHost) {
  options_.script->workers = 3;
  options_.overrides = {"worker.worker-1.device=cpu"};
  const LaunchPlan it = plan();
  EXPECT_THAT(called(it, "worker-0").environment, Contains("STEELYARD_LOCAL_WORKER=0/2"));
  EXPECT_THAT(called(it, "worker-1").environment, Not(Contains(HasSubstr("LOCAL_WORKER"))));
  EXPECT_THAT(called(it, "worker-2").environment, Contains("STEELYARD_LOCAL_WORKER=1/2"));
}

TEST_F(ScriptTest, WorkersMayBeStartedSeparately) {
  options_.script->path.clear();
  const LaunchPlan it = plan(false);
  EXPECT_EQ(it.roles_on("here"), "scheduler, server-0");
  EXPECT_THAT(called(it, "scheduler").input, HasSubstr("worker-1")) << "it waits for them";
}

TEST_F(ScriptTest, WorkersOfAHostsFileRunTheScript) {
  options_.hosts_file = "hosts.toml";
  options_.insecure = true;
  const HostsFile hosts = parse_hosts(R"([[host]]
name = "lion"
address = "10.0.0.1"
scheduler = true
servers = 2
[[host]]
name = "mouse"
ssh = "ann@mouse"
directory = "jobs here"
[[host.worker]]
name = "ada"
simulate_slowdown = "2, 6@10"
[[host.worker]]
name = "bob"
device = "cuda:0"
)",
                                      "hosts.toml");
  const JobFile job = job_for_hosts(options_, hosts);
  EXPECT_EQ(job.job.name, "train");
  EXPECT_EQ(job.job.shards, 2U);
  EXPECT_EQ(job.job.workers, 2U);
  const LaunchPlan it = make_launch_plan(options_, hosts, job, "/bin/steelyard");
  EXPECT_EQ(called(it, "ada").sharing, 2U);
  EXPECT_THAT(describe_plan(it), AllOf(HasSubstr("\n  env STEELYARD=10.0.0.1:7070 STEELYARD_NAME=ada "
                                                 "'STEELYARD_SIMULATE_SLOWDOWN=2, 6@10' STEELYARD_DEVICE=cpu "
                                                 "python3 -u jobs/train.py --lr 0.1\n"),
                                       HasSubstr("STEELYARD_DEVICE=cuda:0")));
}

TEST_F(ScriptTest, AScriptThatDoesNotMentionThePackageIsNamed) {
  const auto notices = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder_.path(name)) << text;
    return notices_of({folder_.path(name), {}, 1, ""});
  };
  EXPECT_THAT(notices("trainer.py", "import transformers\n"),
              ElementsAre(HasSubstr("does not mention steelyard")));
  EXPECT_THAT(notices("joins.py", "from steelyard import torch\n"), IsEmpty());
  EXPECT_THAT(notices("script.sh", "exec ./worker\n"), IsEmpty());
  EXPECT_THAT(notices_of({"/nowhere/train.py", {}, 1, ""}), IsEmpty());
}

TEST_F(ScriptTest, AMissingModuleIsNamedWithItsPython) {
  EXPECT_THAT(remedy_for_missing_module("python3",
                                        "; its log is a\n  ModuleNotFoundError: No module named 'torch'\n"),
              AllOf(HasSubstr("python3 has no module torch"), HasSubstr("STEELYARD_PYTHON")));
  EXPECT_EQ(remedy_for_missing_module("python3", "  ValueError: No module\n"), "");
}

TEST_F(ScriptTest, MissingFilesAreReportedBeforeAnythingStarts) {
  const auto required = [&](const std::string& path, const std::string& directory = "") {
    return refusal([&] { require_script({path, {}, 1, ""}, directory); });
  };
  EXPECT_THAT(required("/nowhere/train.py"), HasSubstr("there is no script /nowhere/train.py"));
  EXPECT_THAT(required(folder_.path().string()), HasSubstr("there is no script"))
      << "a directory is not a script";
  EXPECT_THAT(required(file("plain.sh", fs::perms::owner_read)), HasSubstr("chmod +x"));
  const std::string python = file("train.py", fs::perms::owner_read);
  setenv("STEELYARD_PYTHON", "/nowhere/python", 1);
  EXPECT_THAT(required(python),
              AllOf(HasSubstr("there is no /nowhere/python"), HasSubstr("STEELYARD_PYTHON")));
  setenv("STEELYARD_PYTHON", "sh", 1);
  EXPECT_NO_THROW(require_script({python, {}, 1, ""})) << "an interpreter is looked up in PATH";
  EXPECT_NO_THROW(require_script({file("good.sh"), {}, 1, ""}));
  EXPECT_NO_THROW(require_script({"good.sh", {}, 1, ""}, folder_.path().string()));
}

}  // namespace
}  // namespace steelyard::script_test
