// A scheduler in the place of a killed one: what ends it does so twice and no more, and it leads only if
// nobody else does.
#include "roles/leadership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "balancing/policies.h"
#include "core/error.h"
#include "scheduler/saved_state.h"
#include "tests/support/temporary_folder.h"

namespace steelyard {
namespace {

constexpr double deadly = 13;  // seconds of a report
constexpr NodeId worker{Role::worker, 3}, shard{Role::shard, 4};

// Equal shares, and the end of the process at a certain measurement: a fault that no check foresees.
class Fragile : public balancing::Policy {
 public:
  void observe(const balancing::Sample& sample) override {
    if (sample.seconds == deadly) std::abort();
    equal_->observe(sample);
  }
  std::vector<std::uint64_t> plan(const balancing::Request& request) override {
    return equal_->plan(request);
  }
  [[nodiscard]] std::unique_ptr<Policy> clone() const override { return std::make_unique<Fragile>(); }
  [[nodiscard]] std::string save() const override { return equal_->save(); }
  void restore(const std::string& text) override { equal_->restore(text); }

 private:
  std::unique_ptr<Policy> equal_ = balancing::make_policy("equal");
};

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
  template <class Said>
  void hear(NodeId from, Said said) {
    now_ = now_ + milliseconds(10);
    append(journal_, {now_, Heard{{from, scheduler_node, Message(ToScheduler(std::move(said)))}}});
  }
  void leave() { const JournalFile file(run_.journal(), journal_); }
  // The job is under way, and the last message is one that ends the process.
  void leave_poisoned() {
    hear(shard, Hello{0, "s", "tcp://s", {}, 0});
    hear(worker, Hello{0, "ann", {}, {}, 0});
    hear(worker, Ready{});
    hear(shard, ShardBeat{0, 0, 0, true, {}});
    Report report{0, {1, 0, Purpose::train, 0, {0, 8}}, deadly};
    hear(worker, report);
    leave();
  }
  // A whole life of the next process, as far as it comes.
  std::string state_after_replay() {
    Killed killed = left_by_killed(run_).value();
    cut_record(run_, killed.place);
    Scheduler scheduler(killed.job, killed.from, std::make_unique<Fragile>());
    Recorder recorder(file_, run_, bar_, true);
    told_ = replay_killed(killed, run_, scheduler, recorder);
    recorder.flush(steady_now());
    present_ = scheduler.members().workers.at(0).present;
    return save_state(scheduler, now_);
  }
  bool survives() {
    const pid_t child = fork();
    if (child == 0) {
      (void)state_after_replay();
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  const TemporaryFolder folder_;
  const RunDirectory run_ = RunDirectory::create(folder_.path("run"));
  JobFile file_;
  std::ostringstream out_;
  ProgressBar bar_{out_, {false, false, 80}};
  Time now_ = steady_now();
  std::vector<std::byte> journal_;
  ToldAgain told_;
  bool present_ = true;
};

TEST_F(LeadershipTest, ARecordThatEndedTwoProcessesIsSkippedByTheThird) {
  leave_poisoned();
  EXPECT_FALSE(survives());
  EXPECT_FALSE(survives());
  ASSERT_TRUE(survives());
  // A later recovery, and a standby that has the same journal, come to the same state.
  const std::string state = state_after_replay();
  EXPECT_EQ(state_after_replay(), state);
  EXPECT_FALSE(present_) << "the worker that sent it would send it again";
  EXPECT_THAT(folder_.text("run/events.jsonl"), testing::HasSubstr("ended the scheduler more than once"));
  const auto bytes = read_journal(run_.journal());
  EXPECT_EQ(told_.bytes, bytes.size());
  Scheduler standbys(file_.job, {}, balancing::make_policy("equal"));
  JournalReader reader(bytes);
  (void)reader.next();
  (void)replay(reader, standbys, [](const JournalRecord&, const std::vector<Envelope>&) {});
  EXPECT_EQ(save_state(standbys, now_), state) << "whatever its policy would have made of it";
  EXPECT_FALSE(std::filesystem::exists(run_.journal() + ".replay"));
}

// What follows from it has been sent: to skip it would make another scheduler.
TEST_F(LeadershipTest, AnEarlierRecordIsNotSkipped) {
  leave_poisoned();
  append(journal_, {now_, Woken{}});
  leave();
  EXPECT_FALSE(survives());
  EXPECT_FALSE(survives());
  try {
    (void)state_after_replay();
    FAIL() << "it was skipped";
  } catch (const Failure& refused) {
    EXPECT_EQ(refused.code(), ExitCode::io);
    EXPECT_THAT(refused.what(), testing::HasSubstr("--resume"));
  }
}

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
