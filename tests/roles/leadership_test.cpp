// A scheduler in the place of a killed one leads only if nobody else does.
#include "roles/leadership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "balancing/policies.h"
#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard {
namespace {

constexpr NodeId shard{Role::shard, 4};

class LeadershipTest : public testing::Test {
 protected:
  LeadershipTest() {
    file_ = parse_job("[train]\nbatch = 8\nepochs = 4\n[[worker]]\nname = \"ann\"\n", "j.toml");
    append(file_.job.layout, "w", {4});
    file_.job.layout.slice_size = 4;
    set_samples(file_.job, 8, 8);
    Recorder recorder(file_, run_, bar_);
    recorder.flush(steady_now());
    journal_ = head_here(run_, file_.job, {}, {}, recorder);
  }
  void leave() { const JournalFile file(run_.journal(), journal_); }
  const TemporaryFolder folder_;
  const RunDirectory run_ = RunDirectory::create(folder_.path("run"));
  JobFile file_;
  std::ostringstream out_;
  ProgressBar bar_{out_, {false, false, 80}};
  Time now_ = steady_now();
  std::vector<std::byte> journal_;
};

TEST_F(LeadershipTest, OneThatWasSupersededNeverLeadsAgain) {
  append(journal_, {now_, Followed{7, shard}});
  append(journal_, {now_, Superseded{}});
  leave();
  Killed killed = left_by_killed(run_).value();
  Scheduler scheduler(killed.job, killed.from, balancing::make_policy("equal"));
  Recorder recorder(file_, run_, bar_, true);
  const ToldAgain told = replay_killed(killed, run_, scheduler, recorder);
  ZmqContext context;
  try {
    require_leadership(told, run_, scheduler, context);
    FAIL() << "it leads";
  } catch (const Failure& refused) {
    EXPECT_EQ(refused.code(), ExitCode::configuration) << "a supervisor does not start it again";
    EXPECT_THAT(refused.what(), testing::HasSubstr("standby of this job leads"));
  }
}

TEST_F(LeadershipTest, WithoutAStandbyItLeads) {
  leave();
  Killed killed = left_by_killed(run_).value();
  Scheduler scheduler(killed.job, killed.from, balancing::make_policy("equal"));
  Recorder recorder(file_, run_, bar_, true);
  ZmqContext context;
  EXPECT_NO_THROW(
      require_leadership(replay_killed(killed, run_, scheduler, recorder), run_, scheduler, context));
}

}  // namespace
}  // namespace steelyard
