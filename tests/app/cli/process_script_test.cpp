// Workers started by a script, here a shell script that executes a program with its own model.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <memory>

#include "core/error.h"
#include "tests/support/process_run.h"

namespace steelyard::process_script_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProcessScript : public ProcessTest {
 protected:
  // Writes a script in which `$join` is the command that joins the job and computes until its end.
  std::string script(const std::string& text, const std::string& name = "train.sh") const {
    const std::string engine = (fs::read_symlink("/proc/self/exe").parent_path() / "own_engine").string();
    std::string path = write(name, "#!/bin/sh\njoin=\"" + engine +
                                       " worker --scheduler $STEELYARD --name $STEELYARD_NAME\"\n"
                                       "join=\"$join${STEELYARD_KEYS:+ --keys $STEELYARD_KEYS}\"\n" +
                                       text);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // Runs `steelyard command settings... more...` in the test's directory.
  std::unique_ptr<Process> start(const std::string& command, const std::vector<std::string>& more,
                                 const std::string& epochs = "3",
                                 const std::function<void()>& before = {}) const {
    std::vector<std::string> arguments{command, "--run-dir", path("run")};
    for (const std::string& setting :
         {"train.epochs=" + epochs, std::string("train.batch=250"), std::string("train.lr=0.01")})
      arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return std::make_unique<Process>(path("steelyard.log"), arguments, [this, before] {
      if (chdir(directory_.c_str()) != 0) _exit(125);
      if (before) before();
    });
  }
  std::unique_ptr<Process> run_script(std::vector<std::string> more, const std::string& epochs = "3") const {
    return start("run", std::move(more), epochs);
  }
  void write_go_file() const { write("go", ""); }

  static constexpr const char* endless = "1000000";
};

TEST_F(ProcessScript, ScriptProcessesAreTheWorkers) {
  const auto run =
      run_script({"-n", "2", "--set", "worker.worker-1.simulate_slowdown=4", "--set", "cluster.servers=2",
                  script("env > env-$STEELYARD_NAME\necho \"$STEELYARD_NAME has $*\"\n"
                         "echo to the log >&2\nexec $join\n"),
                  "--quiet", "-n", "7"});
  ends_clean(*run, 0);
  EXPECT_TRUE(run->says("worker-1: worker-1 has --quiet -n 7\n"))
      << "arguments after the script are passed to it";
  EXPECT_FALSE(run->says("to the log"));
  EXPECT_THAT(text_of(path("run/log/worker-0.log")),
              AllOf(HasSubstr("to the log"), HasSubstr("worker-0 has")));
  EXPECT_THAT(text_of(path("env-worker-0")),
              AllOf(HasSubstr("STEELYARD=ipc://"), Not(HasSubstr("STEELYARD_SIMULATE_SLOWDOWN"))));
  EXPECT_THAT(text_of(path("env-worker-1")),
              AllOf(HasSubstr("STEELYARD_SIMULATE_SLOWDOWN=4\n"), HasSubstr("OMP_NUM_THREADS=")));
  EXPECT_TRUE(run->says("waiting for 2 shards and 2 workers"));
  EXPECT_GT(accuracy("run"), 0.9);
}

TEST_F(ProcessScript, CompareRunsAScriptUnderEachPolicy) {
  const auto run = start("compare", {"-n", "2", "--policies", "equal,lb-bsp", "--set",
                                     "worker.worker-1.simulate_slowdown=4", script("exec $join\n")});
  ends_clean(*run, 0);
  EXPECT_TRUE(run->says("[2/2] lb-bsp bsp, repeat 1: "));
  EXPECT_TRUE(run->says("run/compare.html\n"));
  for (const std::string policy : {"equal", "lb-bsp"}) {
    const std::string own = "run/" + policy + "-bsp-1";
    EXPECT_GT(accuracy(own), 0.9);
    EXPECT_THAT(text_of(path(own + "/job.toml")),
                AllOf(HasSubstr("the script brings model and data"), HasSubstr("\"" + policy + "\""),
                      Not(HasSubstr("fashion-mnist"))));
  }
}

TEST_F(ProcessScript, CompareRefusesMissingScriptsAndInvalidSettings) {
  const auto missing = start("compare", {"none.py"});
  ends_clean(*missing, static_cast<int>(ExitCode::configuration));
  EXPECT_TRUE(missing->says("there is no script none.py"));
  const auto wrong = start("compare", {"--set", "train.batch=0", script("exec $join\n")});
  ends_clean(*wrong, static_cast<int>(ExitCode::configuration));
  EXPECT_TRUE(wrong->says("batch"));
}

TEST_F(ProcessScript, OutputOfASingleProcessHasNoPrefix) {
  const auto run = run_script({script("echo hello\nexec $join\n")});
  ends_clean(*run, 0);
  EXPECT_TRUE(run->says("hello\n"));
  EXPECT_FALSE(run->says("worker-0: "));
}

TEST_F(ProcessScript, ResumesFromACheckpoint) {
  const std::string text = script("exec $join\n");
  ends_clean(*run_script({text}, "1"), 0);
  const auto again = run_script({"--resume", text}, "2");
  ends_clean(*again, 0);
  EXPECT_TRUE(again->says("resuming from run/checkpoints/") || again->says("resuming from " + path("run")));
  EXPECT_EQ(newest_checkpoint("run").progress.epoch, 2U);
}

TEST_F(ProcessScript, AFailedProcessIsLostAndTheOthersContinue) {
  const auto run = run_script({"-n", "2",
                               script("[ $STEELYARD_NAME = worker-0 ] && exec $join\n$join &\n"
                                      "until [ -e go ]; do sleep 0.01; done\nkill $!\n"
                                      "for i in 1 2 3 4 5 6 7 8 9; do echo line $i >&2; done\nexit 7\n")},
                              endless);
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  write_go_file();
  EXPECT_TRUE(eventually([&] { return run->says("process 'worker-1' exited with code 7; its log is"); }));
  EXPECT_THAT(run->output(), AllOf(HasSubstr("  line 1\n"), HasSubstr("  line 9\n")));
  const fs::path rounds = directory_ / "run/rounds.jsonl";
  const auto before = fs::file_size(rounds);
  EXPECT_TRUE(eventually([&] { return fs::file_size(rounds) > before; })) << "worker-0 continues";
  run->signal(SIGINT);
  ends_clean(*run, 75);
}

TEST_F(ProcessScript, AFailureBeforeTrainingEndsTheJobWithItsOutput) {
  const auto run = run_script({script("echo Traceback >&2\nexit 3\n")});
  ends_clean(*run, 1);
  EXPECT_THAT(run->output(),
              AllOf(HasSubstr("process 'worker-0' exited with code 3"), HasSubstr("  Traceback")));
}

TEST_F(ProcessScript, AProcessThatNeverJoinsEndsTheJob) {
  const auto run = run_script({script("exit 0\n")});
  ends_clean(*run, 1);
  EXPECT_TRUE(
      run->says("process 'worker-0' exited with code 0: " + path("train.sh") + " has not joined the job"));
  EXPECT_TRUE(run->says("no worker has joined, so the job has no model"));
}

TEST_F(ProcessScript, ARestartedScriptThatHasNotJoinedIsStoppedAtTheEnd) {
  const auto run =
      run_script({"-n", "2", "--set", "train.seconds=5",
                  script("[ $STEELYARD_NAME = worker-0 ] && exec $join\n"
                         "if [ -e killed ]; then\n  trap 'touch stopped; exit 0' TERM\n"
                         "  i=0\n  while [ $((i += 1)) -lt 6000 ]; do sleep 0.01; done\n  touch waited\nfi\n"
                         "touch killed\n$join &\nuntil [ -e go ]; do sleep 0.01; done\nkill -KILL $! $$\n")},
                 endless);
  // From the record of events the launcher knows that the script has joined. Before the first round the job
  // would wait for two workers again.
  const auto trains = [&] {
    const fs::path rounds = path("run/rounds.jsonl");
    return fs::exists(rounds) && fs::file_size(rounds) > 0 &&
           text_of(path("run/events.jsonl")).find("'worker-1' joined") != std::string::npos;
  };
  ASSERT_TRUE(eventually(trains));
  write_go_file();
  EXPECT_EQ(run->code(), 0) << run->output();
  EXPECT_TRUE(fs::exists(path("stopped")));
  EXPECT_FALSE(fs::exists(path("waited"))) << "a minute after the start";
}

TEST_F(ProcessScript, AScriptMayJoinAnotherJobAfterTheFirst) {
  const auto run = run_script(
      {"-n", "2",
       script("$join || exit 1\nsockets=${STEELYARD#ipc://}\nsockets=${sockets%/scheduler}\n"
              "cat $sockets/run_dir > dir-$STEELYARD_NAME\ntouch $sockets/next/2\n"
              "exec ${join%% --*} --scheduler ipc://$sockets/2/scheduler --name $STEELYARD_NAME\n")},
      "1");
  ends_clean(*run, 0);
  EXPECT_GT(accuracy("run"), 0.5);
  EXPECT_GT(accuracy("run-2"), 0.5);
  EXPECT_EQ(text_of(path("dir-worker-0")), fs::absolute(path("run")).string());
  EXPECT_EQ(run->living().size(), 0U);
}

TEST_F(ProcessScript, AFurtherJobThatFailsIsTheResult) {
  const std::string text = script(
      "$join || exit 1\nsockets=${STEELYARD#ipc://}\nsockets=${sockets%/scheduler}\n"
      "touch $sockets/next/2\nwhile [ -e $sockets/next ]; do sleep 0.01; done\n");
  write("run-2", "");  // no directory
  const auto run = run_script({text}, "1");
  EXPECT_EQ(run->code(), 74) << run->output();
  EXPECT_TRUE(run->says("run-2"));
}

TEST_F(ProcessScript, AModuleThatPythonLacksIsNamedOnce) {
  const auto run = run_script({"-n", "2", write("train.py", "import steelyard_is_not_here\n")});
  EXPECT_EQ(run->code(), 1);
  const std::string said = run->output(), remedy = "has no module steelyard_is_not_here";
  EXPECT_NE(said.find(remedy), std::string::npos) << said;
  EXPECT_EQ(said.find(remedy), said.rfind(remedy)) << said;
  EXPECT_THAT(said, HasSubstr("STEELYARD_PYTHON"));
}

TEST_F(ProcessScript, AFailureAfterTheJobIsReported) {
  const auto run = run_script({script("$join\necho no room for the model >&2\nexit 5\n")});
  ends_clean(*run, 1);
  EXPECT_TRUE(run->says("process 'worker-0' exited with code 5")) << run->output();
  EXPECT_TRUE(run->says("  no room for the model"));
}

TEST_F(ProcessScript, RunWaitsForTheScriptUntilCtrlC) {
  const auto run =
      run_script({script("$join\ntrap 'echo asked; exit 0' TERM\n"
                         "touch after\nwhile :; do sleep 0.01; done\n")});
  ASSERT_TRUE(eventually([&] { return fs::exists(path("after")) && run->living_with(" scheduler ") == 0; }));
  run->signal(SIGINT);
  ends_clean(*run, 0);
  EXPECT_TRUE(run->says("asked"));
}

TEST_F(ProcessScript, SeparatelyStartedWorkersJoinThroughSockets) {
  const auto run = start("run", {"--sockets", "."});
  ASSERT_TRUE(eventually([&] { return run->says("waiting for a worker that sends the model"); }));
  const Process worker(path("worker.log"),
                       {"worker", "--scheduler", "ipc://" + path("scheduler"), "--name", "worker-0"}, {},
                       "own_engine");
  ends_clean(*run, 0);
  EXPECT_GT(accuracy("run"), 0.9);
}

TEST_F(ProcessScript, RunExitsWhenItsParentIsKilled) {
  for (const bool trains : {false, true}) {
    fs::remove_all(path("run"));
    const auto run = start("run", {"--sockets", "."}, endless, [] {
      if (fork() != 0) pause();  // its parent
    });
    ASSERT_TRUE(eventually([&] { return run->says("waiting for a worker that sends the model"); }));
    Process worker(
        path("worker.log"),
        {trains ? "worker" : "help", "--scheduler", "ipc://" + path("scheduler"), "--name", "worker-0"}, {},
        "own_engine");
    if (trains) {
      ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
    }
    run->signal(SIGKILL);
    EXPECT_EQ(run->code(), -SIGKILL);
    EXPECT_TRUE(eventually([&] { return run->living().empty(); })) << "processes are left behind";
  }
}

TEST_F(ProcessScript, AKilledRunLeavesNoProcessBehind) {
  const auto run = run_script({"-n", "2", script("exec $join\n")}, endless);
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  run->signal(SIGKILL);
  EXPECT_EQ(run->code(), -SIGKILL);
  EXPECT_TRUE(eventually([&] { return run->living().empty(); }));
}

TEST_F(ProcessScript, MistakesAreReportedBeforeAnythingStarts) {
  const std::string good = script("exec $join\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{"run"}, "run needs a script"},
      {{"run", job_}, "this is a job file"},
      {{"run", "--worker", "2", good}, "did you mean \"--workers\"?"},
      {{"run", "-n", "0", good}, "--workers"},
      {{"run", "--set", "model.name=lenet5", good}, "a script brings its own model"},
      {{"run", "--resume", good}, "--resume needs --run-dir"}};
  for (const auto& [arguments, part] : wrong) {
    EXPECT_EQ(run(arguments), 2) << part;
    EXPECT_THAT(said_, HasSubstr(part));
  }
  EXPECT_EQ(run({"run", path("nowhere.py")}), 78);
  EXPECT_THAT(said_, HasSubstr("there is no script " + path("nowhere.py")));
  EXPECT_EQ(run({"run", "--sockets", path("nowhere")}), 78);
  EXPECT_THAT(said_, HasSubstr("there is no directory"));
  setenv("STEELYARD_PYTHON", "/nowhere/python", 1);
  EXPECT_EQ(run({"run", write("train.py", "")}), 78);
  unsetenv("STEELYARD_PYTHON");
  EXPECT_THAT(said_, HasSubstr("there is no /nowhere/python"));
}

TEST_F(ProcessScript, LaunchRunsAScriptOnTheHosts) {
  const std::string hosts =
      write("hosts.toml", "[[host]]\nscheduler = true\nport = " + std::to_string(20000 + getpid() % 10000) +
                              "\nservers = 1\n[[host.worker]]\nname = \"ada\"\n[[host.worker]]\nname = "
                              "\"bob\"\nsimulate_slowdown = 2\n");
  const std::string text =
      script("echo \"slow ${STEELYARD_SIMULATE_SLOWDOWN:-1} $*\"\necho to the log >&2\nexec $join\n");
  const auto shown = start("launch", {"--dry-run", hosts, text, "--lr", "3"});
  ends_clean(*shown, 0);
  EXPECT_THAT(shown->output(),
              AllOf(HasSubstr("STEELYARD_SIMULATE_SLOWDOWN=2 STEELYARD_DEVICE=cpu " + text + " --lr 3\n"),
                    HasSubstr("--set train.lr=0.01")));
  EXPECT_FALSE(fs::exists(path("run")));
  const auto launch = start("launch", {hosts, text, "--set", "x"});
  ends_clean(*launch, 0);
  EXPECT_THAT(launch->output(),
              AllOf(HasSubstr("slow 2 --set x\n"), HasSubstr("ada@host-0: slow 1 --set x\n"),
                    Not(HasSubstr("to the log"))));
  EXPECT_THAT(text_of(path("run/log/bob.log")), HasSubstr("to the log"));
  EXPECT_GT(accuracy("run"), 0.9);
  const auto missing = start("launch", {hosts, path("nowhere.py")});
  ends_clean(*missing, 78);
  EXPECT_TRUE(missing->says("there is no script"));
}

}  // namespace
}  // namespace steelyard::process_script_test
