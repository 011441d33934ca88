// The batch script, and what it does when the launcher ends: run here with a launcher and a scontrol that are
// scripts, too. engines/slurm runs it under the real daemons.
#include "app/render/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/temporary_folder.h"

namespace steelyard::slurm_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

RenderedJob made_job() {
  RenderedJob job;
  job.name = "digits";
  job.origin = "steelyard render slurm hosts.toml job.toml";
  job.file = "job.toml";
  job.hosts = parse_hosts(R"([[host]]
name = "slow"
count = 2
partition = "old"
[[host.worker]]
[[host.worker]]
[[host]]
name = "store"
servers = 2
[[host]]
name = "fast"
partition = "new"
scheduler = true
cpus = 8
memory = "16Gi"
gpus = 1
[[host.worker]]
)",
                          "hosts.toml", HostsUse::slurm);
  return job;
}

TEST(Sbatch, EachHostWithAWorkerIsAGroupOfNodes) {
  EXPECT_THAT(sbatch_text(made_job(), {{"--account=lab"}}),
              AllOf(StartsWith("#!/bin/bash\n"), HasSubstr("#SBATCH --requeue\n"),
                    HasSubstr("# fast\n#SBATCH --partition=new\n#SBATCH --nodes=1\n#SBATCH "
                              "--ntasks=1\n#SBATCH --ntasks-per-node=1\n"
                              "#SBATCH --cpus-per-task=8\n#SBATCH --mem=16G\n#SBATCH --gpus-per-node=1\n"
                              "#SBATCH --account=lab\n#SBATCH hetjob\n# slow\n#SBATCH --partition=old\n"
                              "#SBATCH --nodes=2\n#SBATCH --ntasks=4\n#SBATCH --ntasks-per-node=2\n#SBATCH "
                              "--account=lab\n\n"),
                    Not(HasSubstr("# store"))));
}

TEST(Sbatch, ServersAreCountedOverAllHosts) {
  EXPECT_THAT(sbatch_text(made_job(), {}), HasSubstr("--set cluster.servers=2"));
  RenderedJob hosted = made_job();
  hosted.hosted = true;
  EXPECT_THAT(sbatch_text(hosted, {}), HasSubstr("--set cluster.servers=workers"));
}

// Runs the script. The launcher writes its words to `words`, this code to result.json, and exits with 137, as
// srun does if any task was killed. If `signal` is given, the launcher waits for SIGTERM first, and the
// script gets this signal. Returns the script's exit code.
class SbatchScript : public testing::Test {
 protected:
  int run(int code, const std::string& signal = "", bool writes = true) {
    const std::string result = writes ? "mkdir -p runs/digits-7/checkpoints/5; touch "
                                        "runs/digits-7/checkpoints/5/MANIFEST.json; echo '  \"exit_code\": " +
                                            std::to_string(code) + ",' >runs/digits-7/result.json; "
                                      : "";
    const std::string wait = signal.empty() ? "" : "trap 'kill $!' TERM; sleep 60 & touch ready; wait\n";
    program("steelyard", "echo \"$*\" >words\n" + wait + result + "exit 137\n");
    program("scontrol",
            "case $1 in show) echo JobState=" + state_ + " ;; *) echo \"$*\" >>requeued ;; esac\n");
    folder_.write("job.sh", std::string_view(sbatch_text(made_job(), {})));
    std::string command = "cd " + folder_.path().string() +
                          "; rm -f ready; PATH=.:$PATH SLURM_JOB_ID=7 bash job.sh >output 2>&1 & it=$!; ";
    if (!signal.empty())
      command +=
          "until [ -e " + folder_.path("ready") + " ]; do sleep 0.01; done; kill -" + signal + " $it; ";
    const int status = std::system((command + "wait $it").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] bool requeued() const { return folder_.text("requeued") == "requeue 7\n"; }
  [[nodiscard]] bool left_alone() const { return folder_.text("requeued").empty(); }

  const TemporaryFolder folder_;
  std::string state_ = "RUNNING";  // of the job, as Slurm shows it

 private:
  void program(const std::string& name, const std::string& text) {
    const auto file = folder_.write(name, std::string_view("#!/bin/bash\n" + text));
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
};

TEST_F(SbatchScript, TheVerdictIsThatOfTheRecord) {
  EXPECT_EQ(run(0), 0) << folder_.text("output");
  EXPECT_TRUE(left_alone());
  EXPECT_EQ(run(78), 78);
  EXPECT_TRUE(left_alone());
}

TEST_F(SbatchScript, WithoutARecordTheExitCodeCounts) {
  EXPECT_EQ(run(0, "", false), 137);
  EXPECT_TRUE(left_alone());
}

// With GraceTime only the processes of steps get the signal.
TEST_F(SbatchScript, APreemptedJobIsPutBackIntoTheQueue) {
  EXPECT_EQ(run(75), 0) << folder_.text("output");
  EXPECT_TRUE(requeued());
}

TEST_F(SbatchScript, AStartedJobIsResumed) {
  EXPECT_EQ(run(75), 0);
  EXPECT_THAT(folder_.text("words"), Not(HasSubstr("--resume")));
  EXPECT_EQ(run(0), 0);
  EXPECT_THAT(folder_.text("words"),
              AllOf(HasSubstr("--run-dir runs/digits-7 --resume"), HasSubstr("job.toml")));
}

// An old record must not decide: this start wrote none.
TEST_F(SbatchScript, ARecordOfAnEarlierStartIsIgnored) {
  EXPECT_EQ(run(78), 78);
  EXPECT_EQ(run(0, "", false), 137);
  EXPECT_TRUE(left_alone());
}

TEST_F(SbatchScript, ARunWithoutCheckpointsBeginsAgain) {
  (void)folder_.write("runs/digits-7/job.toml", std::string_view("[job]\n"));
  EXPECT_EQ(run(0), 0) << folder_.text("output");
  EXPECT_THAT(folder_.text("words"), Not(HasSubstr("--resume")));
  EXPECT_EQ(folder_.text("runs/digits-7-begun-0/job.toml"), "[job]\n");
}

TEST_F(SbatchScript, BeforeTheTimeLimitTheJobSavesAndIsPutBack) {
  EXPECT_EQ(run(75, "USR1"), 0) << folder_.text("output");
  EXPECT_TRUE(requeued());
}

TEST_F(SbatchScript, ACancelledJobIsNotPutBack) {
  state_ = "CANCELLED";
  EXPECT_EQ(run(75), 75) << "only the steps were signalled";
  EXPECT_EQ(run(75, "TERM"), 75) << folder_.text("output");
  EXPECT_TRUE(left_alone());
}

}  // namespace
}  // namespace steelyard::slurm_test
