// The record of a run and its journal together are complete, wherever one ends and the other begins.
#include "app/processes/run_journal.h"

#include <gtest/gtest.h>

#include <sstream>

#include "balancing/policies.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::run_journal_test {
namespace {

class RunJournalTest : public testing::Test {
 protected:
  RunJournalTest() {
    file_ = parse_job("[train]\nbatch = 8\nepochs = 1\n[[worker]]\nname = \"ann\"\n", "j.toml");
    append(file_.job.layout, "w", {4});
    file_.job.layout.slice_size = 4;
    set_samples(file_.job, 8, 8);
  }
  static std::vector<std::byte> joining(std::uint64_t number) {
    const Envelope hello{{Role::worker, number},
                         scheduler_node,
                         Message(ToScheduler(Hello{0, "w" + std::to_string(number), {}, {}, 0}))};
    std::vector<std::byte> record;
    append(record, {steady_now(), Heard{hello}});
    return record;
  }
  static Scheduler a_scheduler(const Job& job) { return Scheduler(job, {}, balancing::make_policy("equal")); }

  const TemporaryFolder folder_;
  const RunDirectory run_ = RunDirectory::create(folder_.path("run"));
  JobFile file_;
  std::ostringstream out_;
  ProgressBar bar_{out_, {false, false, 80}};
};

TEST_F(RunJournalTest, RecordsAfterTheHeadAreReplayed) {
  std::string events;
  {
    Recorder recorder(file_, run_, bar_);
    recorder.handle(Note{"before"}, steady_now());
    recorder.flush(steady_now());
    events = folder_.text("run/events.jsonl");
    JournalFile journal(run_.journal(), head_here(run_, file_.job, {}, {}, recorder));
    (void)journal.write(joining(1));
    recorder.handle(Note{"also in the journal"}, steady_now());
  }
  const Killed killed = left_by_killed(run_).value();
  EXPECT_EQ(killed.place.events_bytes, events.size());
  cut_record(run_, killed.place);
  EXPECT_EQ(folder_.text("run/events.jsonl"), events);
  Scheduler again = a_scheduler(killed.job);
  Recorder recorder(file_, run_, bar_, true);
  const ToldAgain told = tell_again(killed, again, recorder);
  recorder.flush(steady_now());
  EXPECT_EQ(told.bytes, killed.journal.size());
  EXPECT_EQ(told.follower.attempt, 0U);
  EXPECT_NE(folder_.text("run/events.jsonl").find("worker 'w1' joined"), std::string::npos);
  EXPECT_EQ(again.members().workers.size(), 1U);
}

TEST_F(RunJournalTest, ACondensedJournalKeepsTheRecordersState) {
  std::string summary;
  {
    Recorder recorder(file_, run_, bar_);
    RoundRecord round;
    round.positions = {0, 8};
    round.seconds = 0.5;
    round.parts = {{0, "ann", 8, 0.4}};
    recorder.handle(round, steady_now());
    recorder.flush(steady_now());
    summary = recorder.summary();
    std::vector<std::byte> bytes = head_here(run_, file_.job, {}, {}, recorder);
    append(bytes, {steady_now(), Condensed{a_scheduler(file_.job).save(steady_now())}});
    JournalFile journal(run_.journal(), bytes);
    (void)journal.write(joining(2));
  }
  const Killed killed = left_by_killed(run_).value();
  Scheduler again = a_scheduler(killed.job);
  Recorder recorder(file_, run_, bar_, true);
  (void)tell_again(killed, again, recorder);
  EXPECT_EQ(recorder.summary(), summary);
  EXPECT_EQ(again.members().workers.size(), 1U);
}

// The standby's own record begins where its copy of the journal begins.
TEST_F(RunJournalTest, AStandbysRecordNamesItsStartAndTheEarlierRecord) {
  Progress from;
  from.version = 5;
  std::vector<std::byte> condensed, bytes;
  append(condensed,
         {steady_now(),
          Condensed{Scheduler(file_.job, from, balancing::make_policy("equal")).save(steady_now())}});
  {
    Recorder recorder(file_, run_, bar_);
    RoundRecord round;
    round.parts = {{0, "ann", 8, 0.4}};
    recorder.handle(round, steady_now());
    recorder.flush(steady_now());
    SchedulersPlace at_a;
    at_a.listen = "tcp://a:1";
    const std::vector<std::byte> whole = head_here(run_, file_.job, {}, at_a, recorder);
    JournalReader head(whole);
    append(bytes, {steady_now(), moved(std::get<JournalHead>(head.next()->what), "tcp://b:1")});
  }
  const RunDirectory there = RunDirectory::create(folder_.path("there"));
  bytes.insert(bytes.end(), condensed.begin(), condensed.end());
  { JournalFile journal(there.journal(), bytes); }
  std::ofstream(there.rounds());
  std::ofstream(there.events());
  {
    const Killed killed = left_by_killed(there).value();
    Scheduler again = a_scheduler(killed.job);
    Recorder recorder(file_, there, bar_, true);
    (void)tell_again(killed, again, recorder);
    recorder.flush(steady_now());
    bytes = head_here(there, killed.job, {}, killed.place, recorder);
  }
  const std::string events = folder_.text("there/events.jsonl");
  EXPECT_NE(events.find("begins here with round 5"), std::string::npos) << events;
  EXPECT_NE(events.find(run_.path() + " of the scheduler at tcp://a:1"), std::string::npos) << events;
  bytes.insert(bytes.end(), condensed.begin(), condensed.end());
  { JournalFile journal(there.journal(), bytes); }
  {
    const Killed killed = left_by_killed(there).value();
    Scheduler again = a_scheduler(killed.job);
    Recorder recorder(file_, there, bar_, true);
    (void)tell_again(killed, again, recorder);
  }
  EXPECT_EQ(folder_.text("there/events.jsonl"), events) << "it is in the files already";
}

}  // namespace
}  // namespace steelyard::run_journal_test
