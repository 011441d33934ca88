// A restarted scheduler leads only if no standby does.
#include "app/processes/run_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <streambuf>

#include "app/processes/journal_file.h"
#include "balancing/policies.h"
#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::leadership_test {
namespace {

constexpr NodeId shard{Role::shard, 4};

class LeadershipTest : public testing::Test {
 protected:
  LeadershipTest() {
    file_ = parse_job(
        "[train]\nbatch = 8\nepochs = 4\n[[worker]]\nname = \"ann\"\n[[worker]]\nname = \"poison\"\n",
        "j.toml");
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

TEST_F(LeadershipTest, ASupersededSchedulerNeverLeadsAgain) {
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
    EXPECT_EQ(refused.code(), ExitCode::configuration) << "so that a supervisor does not restart it";
    EXPECT_THAT(refused.what(), testing::HasSubstr("standby of this job leads"));
  }
}

// Progress output of a process that aborts when it shows the name 'poison'.
struct EndsAtPoison : std::stringbuf {
  int sync() override {
    if (str().find("'poison'") != std::string::npos) std::abort();
    return 0;
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const auto written = std::stringbuf::xsputn(text, size);
    (void)sync();
    return written;
  }
};

class LeadershipDeathTest : public LeadershipTest {
 protected:
  LeadershipDeathTest() {
    record({Role::worker, 1}, "ann");
    record(sender, "poison");
    leave();
  }
  void record(NodeId from, const std::string& name) {
    append(journal_, {now_, Heard{{from, scheduler_node, Message(ToScheduler(Hello{0, name, {}}))}}});
  }
  // The state of a scheduler that continues the run of the killed one.
  std::string recovered(std::ostream& shown) {
    ProgressBar bar(shown, {false, false, 80});
    Killed killed = left_by_killed(run_).value();
    Scheduler scheduler(killed.job, killed.from, balancing::make_policy("equal"));
    Recorder recorder(file_, run_, bar, true);
    const ToldAgain told = replay_killed(killed, run_, scheduler, recorder);
    EXPECT_EQ(told.bytes, std::filesystem::file_size(run_.journal()));
    return scheduler.save(now_);
  }
  static constexpr NodeId sender{Role::worker, 2};
};

TEST_F(LeadershipDeathTest, TheThirdProcessSkipsARecordThatEndedTwo) {
  EndsAtPoison ends;
  std::ostream shown(&ends);
  const auto before = std::filesystem::file_size(run_.journal());
  EXPECT_DEATH(recovered(shown), "");
  EXPECT_DEATH(recovered(shown), "");
  EXPECT_EQ(std::filesystem::file_size(run_.journal()), before) << "once may be chance";
  const std::string third = recovered(shown);
  EXPECT_GT(std::filesystem::file_size(run_.journal()), before);
  EXPECT_EQ(recovered(shown), third) << "a later recovery";

  const std::vector<std::byte> journal = read_journal(run_.journal());
  JournalReader reader(journal);  // as a standby reads it
  const JournalRecord first = reader.next().value();
  const auto& head = std::get<JournalHead>(first.what);
  Scheduler standbys(*head.job, head.from, balancing::make_policy("equal"));
  replay(reader, standbys, [](const JournalRecord&, const std::vector<Envelope>&) {});
  EXPECT_EQ(standbys.save(now_), third);

  Outbox out(scheduler_node);
  standbys.step(now_, {sender, scheduler_node, Message(ToScheduler(Hello{0, "poison", {}}))}, out);
  EXPECT_EQ(standbys.members().worker(sender), nullptr) << "it is excluded from the job";
}

TEST_F(LeadershipTest, LeadsWithoutAStandby) {
  leave();
  Killed killed = left_by_killed(run_).value();
  Scheduler scheduler(killed.job, killed.from, balancing::make_policy("equal"));
  Recorder recorder(file_, run_, bar_, true);
  ZmqContext context;
  EXPECT_NO_THROW(
      require_leadership(replay_killed(killed, run_, scheduler, recorder), run_, scheduler, context));
}

}  // namespace
}  // namespace steelyard::leadership_test
