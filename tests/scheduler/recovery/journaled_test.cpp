// Inputs are written to the journal before they are answered; replaying them gives the same scheduler.
#include "scheduler/recovery/journaled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "tests/scheduler/transcript_script.h"
#include "tests/support/heard.h"
#include "tests/support/toy_job.h"

namespace steelyard::journaled_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Time at(double s) { return Time{from_seconds(s)}; }

Envelope from_worker(ToScheduler sent) {
  return {{Role::worker, 1}, scheduler_node, Message(std::move(sent))};
}

TEST(Journaled, WritesBeforeItAnswers) {
  Scheduler scheduler(test::toy_job(8, 4, 1, 1, 1), {}, balancing::make_policy("equal"));
  std::size_t written = 0;
  Journaled journaled(scheduler, [&](const std::vector<std::byte>&) {
    ++written;
    EXPECT_TRUE(scheduler.members().workers.empty()) << "it was handled before it was written";
    return true;
  });
  Outbox out(scheduler_node);
  journaled.step(at(1), from_worker(Hello{0, "ann", {}, {}, 0}), out);
  EXPECT_EQ(written, 1U);
  EXPECT_EQ(scheduler.members().workers.size(), 1U);
}

TEST(Journaled, AWakeWithoutEffectIsNotWritten) {
  Scheduler scheduler(test::toy_job(8, 4, 1, 1, 1), {}, balancing::make_policy("equal"));
  std::size_t written = 0;
  Journaled journaled(scheduler, [&](const std::vector<std::byte>&) { return ++written > 0; });
  Outbox out(scheduler_node);
  journaled.wake(at(1), out);
  journaled.wake(at(1.1), out);
  EXPECT_EQ(written, 1U);
  journaled.wake(at(2), out);
  EXPECT_EQ(written, 2U);
}

TEST(Journaled, TheJournalRecordsTheStandbyAndItsArbiters) {
  std::vector<std::byte> journal;
  const Job job = test::toy_job(8, 4, 1, 1, 2);
  const auto hello = [](std::uint64_t shard) {
    return Heard{{{Role::shard, shard},
                  scheduler_node,
                  Message(ToScheduler(Hello{0, std::to_string(shard), "tcp://s", {}, 0}))}};
  };
  const auto follower = [&] {
    JournalReader reader(journal);
    Scheduler scheduler(job, {}, balancing::make_policy("equal"));
    return replay(reader, scheduler, [](const JournalRecord&, const std::vector<Envelope>&) {});
  };
  const NodeId eight{Role::shard, 8}, nine{Role::shard, 9};
  EXPECT_EQ(follower().attempt, 0U);
  append(journal, {at(1), hello(8)});
  append(journal, {at(2), Followed{7, eight}});
  EXPECT_EQ(follower().attempt, 7U);
  EXPECT_EQ(follower().arbiters, (std::vector{eight}));
  append(journal, {at(3), hello(9)});
  EXPECT_EQ(follower().arbiters, (std::vector{eight})) << "it has not confirmed that it is the arbiter";
  append(journal, {at(4), Followed{7, nine}});
  EXPECT_EQ(follower().arbiters, (std::vector{eight, nine}));
  append(journal, {at(4), Followed{7, nine}});
  EXPECT_EQ(follower().arbiters, (std::vector{nine})) << "the standby knows the new arbiter";
  append(journal, {at(5), Followed{0}});
  EXPECT_EQ(follower().attempt, 0U);
}

TEST(Journaled, ALongJournalIsCondensed) {
  const Job job = test::toy_job(8, 4, 1, 1, 1);
  Scheduler scheduler(job, {}, balancing::make_policy("equal"));
  std::vector<std::byte> journal;
  int refusals = 1;
  const auto write = [&](const std::vector<std::byte>& record) {
    journal.insert(journal.end(), record.begin(), record.end());
    return true;
  };
  const auto condense = [&](const std::vector<std::byte>& records) {
    if (refusals-- > 0) return false;
    journal = records;
    return true;
  };
  Journaled journaled(scheduler, write, {.condense = condense, .most = 100});
  Outbox out(scheduler_node);
  const std::string name(200, 'a');
  for (double t = 1; t < 5; ++t) journaled.step(at(t), from_worker(Hello{0, name, {}, {}, 0}), out);
  EXPECT_LT(refusals, 0) << "a refused attempt is repeated";
  EXPECT_TRUE(std::holds_alternative<Condensed>(JournalReader(journal).next().value().what));
  JournalReader reader(journal);
  Scheduler again(job, {}, balancing::make_policy("equal"));
  (void)replay(reader, again, [](const JournalRecord&, const std::vector<Envelope>&) {});
  EXPECT_EQ(again.save(at(9)), scheduler.save(at(9)));
}

TEST(Journaled, ReportsThatItWaitsForAnArbiter) {
  Scheduler scheduler(test::toy_job(8, 4, 1, 1, 1), {}, balancing::make_policy("equal"));
  Journaled journaled(scheduler, [](const std::vector<std::byte>&) { return true; },
                      {.standby = {"build", [] { return std::vector<std::byte>(1); }}});
  Outbox out(scheduler_node);
  const NodeId standby{Role::standby, 9}, shard{Role::shard, 8};
  const auto receive = [&](double when, NodeId from, ToScheduler sent) {
    journaled.step(at(when), {from, scheduler_node, Message(std::move(sent))}, out);
  };
  receive(1, shard, Hello{0, "s", "tcp://s", {}, 0});
  receive(1, standby, Follow{"build", 7});
  receive(1, standby, JournalAck{7, 1});
  receive(1, shard, Arbitrates{7});
  receive(1, link_node, Disconnected{standby});
  (void)out.take();
  journaled.wake(at(1.1), out);
  EXPECT_TRUE(test::heard<Note>(out.take()).empty());
  journaled.wake(at(3.2), out);
  const auto notes = test::heard<Note>(out.take());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].text.find("decides which of the two leads"), std::string::npos);
}

// A journal on a disk that hangs: records are accepted at once, but `written` counts those on the disk.
class SlowJournal : public testing::Test {
 protected:
  std::vector<Envelope> join(std::uint64_t worker, double when) {
    return step(when, {Role::worker, worker}, Hello{0, "w" + std::to_string(worker), {}, {}, 0});
  }
  std::vector<Envelope> step(double when, NodeId from, ToScheduler sent) {
    Outbox out(scheduler_node);
    journaled.step(at(when), {from, scheduler_node, Message(std::move(sent))}, out);
    return out.take();
  }
  std::vector<Envelope> wake(double when) {
    Outbox out(scheduler_node);
    journaled.wake(at(when), out);
    return out.take();
  }
  void write_all() { written = journal.size(); }
  static std::vector<NodeId> welcomed(const std::vector<Envelope>& sent) {
    std::vector<NodeId> nodes;
    for (const Envelope& it : sent) {
      const auto* message = std::get_if<ToWorker>(&it.message);
      if (message != nullptr && std::holds_alternative<Welcome>(*message)) nodes.push_back(it.to);
    }
    return nodes;
  }

  const Job job = test::toy_job(8, 4, 1, 1, 1);
  Scheduler scheduler{job, {}, balancing::make_policy("equal")};
  std::vector<std::vector<std::byte>> journal;  // one element for each record
  std::size_t written = 0;                      // number of records
  bool sound = true;
  std::size_t asked = 0;  // how often the journal was asked what it has
  Journaled::Options options() {
    Journaled::Options options;
    options.standby.build = "build";
    options.standby.journal = [this] {
      std::vector<std::byte> all;
      for (const auto& record : journal) all.insert(all.end(), record.begin(), record.end());
      return all;
    };
    options.pending = [this] {
      ++asked;
      return journal.size() - written;
    };
    return options;
  }
  Journaled journaled{scheduler,
                      [this](const std::vector<std::byte>& record) {
                        if (sound) journal.push_back(record);
                        return sound;
                      },
                      options()};
};

TEST_F(SlowJournal, AnswersLeaveInOrderOnceTheyAreWritten) {
  EXPECT_THAT(welcomed(join(1, 1)), IsEmpty());
  EXPECT_THAT(welcomed(join(2, 1.1)), IsEmpty()) << "inputs are handled meanwhile";
  EXPECT_EQ(scheduler.members().workers.size(), 2U);
  EXPECT_THAT(welcomed(wake(1.2)), IsEmpty());
  written = 1;
  EXPECT_THAT(welcomed(wake(1.3)), ElementsAre(NodeId{Role::worker, 1}));
  write_all();
  EXPECT_THAT(welcomed(wake(1.4)), ElementsAre(NodeId{Role::worker, 2}));
  EXPECT_THAT(welcomed(join(3, 1.5)), IsEmpty());
}

TEST_F(SlowJournal, APromptJournalDelaysNothing) {
  std::size_t before = 0;
  for (std::uint64_t worker = 1; worker < 4; ++worker) {
    written = ++before;
    EXPECT_THAT(welcomed(join(worker, 1)), ElementsAre(NodeId{Role::worker, worker}));
  }
}

TEST_F(SlowJournal, IsPolledWhileAnswersWait) {
  wake(1);
  join(1, 1.001);
  EXPECT_LT(journaled.deadline(), at(1.1)) << "long before the next heartbeat";
  write_all();
  EXPECT_THAT(welcomed(wake(1.01)), ElementsAre(NodeId{Role::worker, 1}));
  EXPECT_GT(journaled.deadline(), at(1.1));
}

TEST_F(SlowJournal, HeartbeatsAndNotesDoNotWait) {
  const auto sent = join(1, 1);
  ASSERT_EQ(test::heard<Note>(sent).size(), 1U) << "notes do not wait";
  double now = 1;
  for (int beats = 0; beats < 10; ++beats) {
    now += job.heartbeat;
    const auto woken = wake(now);
    EXPECT_EQ(test::heard<SchedulerBeat>(woken).size(), 1U);
    EXPECT_THAT(welcomed(woken), IsEmpty());
  }
}

TEST_F(SlowJournal, AnAnswerWaitsForTheStandbyAndForTheJournal) {
  const NodeId standby{Role::standby, 9};
  const auto confirm = [&](double when) {
    std::size_t all = 0;
    for (const auto& record : journal) all += record.size();
    return welcomed(step(when, standby, JournalAck{7, all}));
  };
  step(1, {Role::worker, 5}, Ready{});
  write_all();
  step(1, standby, Follow{"build", 7});
  confirm(1);
  confirm(1);  // the record that it counts
  EXPECT_THAT(welcomed(join(1, 1.1)), IsEmpty());
  EXPECT_THAT(confirm(1.1), IsEmpty()) << "the journal does not have it";
  write_all();
  EXPECT_THAT(welcomed(wake(1.2)), ElementsAre(NodeId{Role::worker, 1}));
  EXPECT_THAT(welcomed(join(2, 1.3)), IsEmpty());
  write_all();
  EXPECT_THAT(welcomed(wake(1.4)), IsEmpty()) << "the standby does not have it";
  EXPECT_TRUE(test::heard<SchedulerBeat>(wake(1 + job.heartbeat)).empty())
      << "members must have one scheduler";
  write_all();
  EXPECT_THAT(confirm(2), ElementsAre(NodeId{Role::worker, 2}));
}

// A journal collects records that it is not asked for.
TEST_F(SlowJournal, IsAskedForTheRecordOfANewStandby) {
  const NodeId standby{Role::standby, 9};
  step(1, {Role::worker, 5}, Ready{});
  write_all();
  step(1, standby, Follow{"build", 7});
  std::size_t all = 0;
  for (const auto& record : journal) all += record.size();
  const std::size_t records = journal.size(), before = asked;
  step(1, standby, JournalAck{7, all});
  ASSERT_EQ(journal.size(), records + 1) << "it counts";
  EXPECT_GT(asked, before);
}

// The journal on disk is then older than what members have received, so it must be emptied first.
TEST_F(SlowJournal, AnAbandonedJournalIsEmptiedBeforeFurtherAnswers) {
  join(1, 1);
  sound = false;
  EXPECT_THAT(welcomed(join(2, 1.1)), IsEmpty());
  write_all();
  EXPECT_THAT(welcomed(wake(1.2)), ElementsAre(NodeId{Role::worker, 1}, NodeId{Role::worker, 2}));
  EXPECT_THAT(welcomed(join(3, 1.3)), ElementsAre(NodeId{Role::worker, 3}));
}

TEST(Restarted, SilenceCountsFromTheRestart) {
  test::Script script;
  for (const char* line : {"job workers=1", "s1: Hello left", "w1: Hello ann", "w1: Ready", "wait 8"})
    script.run(line);
  script.run("killed");
  EXPECT_EQ(script.scheduler().members().workers.at(0).present, true);
  script.run("wait 9");
  EXPECT_EQ(script.scheduler().members().workers.at(0).present, true) << "17 s after its last message";
  script.run("wait 2");
  EXPECT_EQ(script.scheduler().members().workers.at(0).present, false);
}

}  // namespace
}  // namespace steelyard::journaled_test
