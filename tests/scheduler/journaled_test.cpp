// What is heard is written before it is answered, and makes the same scheduler.
#include "scheduler/journaled.h"

#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "scheduler/saved_state.h"
#include "tests/scheduler/script.h"
#include "tests/support/heard.h"
#include "tests/support/toy_job.h"

namespace steelyard {
namespace {

Time at(double s) { return Time{from_seconds(s)}; }

Envelope from_worker(ToScheduler said) {
  return {{Role::worker, 1}, scheduler_node, Message(std::move(said))};
}

TEST(Journaled, WritesBeforeItAnswers) {
  Scheduler scheduler(test::toy_job(8, 4, 1, 1, 1), {}, balancing::make_policy("equal"));
  std::size_t written = 0;
  Journaled journaled(scheduler, [&](const std::vector<std::byte>&) {
    ++written;
    EXPECT_TRUE(scheduler.members().workers.empty()) << "it had heard before it was written";
    return true;
  });
  Outbox out(scheduler_node);
  journaled.step(at(1), from_worker(Hello{0, "ann", {}, {}, 0}), out);
  EXPECT_EQ(written, 1U);
  EXPECT_EQ(scheduler.members().workers.size(), 1U);
}

TEST(Journaled, WakingForNothingIsNotWritten) {
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

TEST(Journaled, TheJournalSaysWhetherAStandbyCountsAndWhomItMayAsk) {
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
  EXPECT_EQ(follower().arbiters, (std::vector{eight})) << "it has not confirmed that it decides";
  append(journal, {at(4), Followed{7, nine}});
  EXPECT_EQ(follower().arbiters, (std::vector{eight, nine}));
  append(journal, {at(4), Followed{7, nine}});
  EXPECT_EQ(follower().arbiters, (std::vector{nine})) << "the standby knows of it";
  append(journal, {at(5), Followed{0}});
  EXPECT_EQ(follower().attempt, 0U);
}

TEST(Journaled, BeginsAnewWithWhatItKnowsBeforeItHearsMore) {
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
  EXPECT_LT(refusals, 0) << "what was refused is tried again";
  EXPECT_TRUE(std::holds_alternative<Condensed>(JournalReader(journal).next().value().what));
  JournalReader reader(journal);
  Scheduler again(job, {}, balancing::make_policy("equal"));
  (void)replay(reader, again, [](const JournalRecord&, const std::vector<Envelope>&) {});
  EXPECT_EQ(save_state(again, at(9)), save_state(scheduler, at(9)));
}

TEST(Journaled, SaysThatItWaitsForWhoDecides) {
  Scheduler scheduler(test::toy_job(8, 4, 1, 1, 1), {}, balancing::make_policy("equal"));
  Journaled journaled(scheduler, [](const std::vector<std::byte>&) { return true; },
                      {.standby = {"build", [] { return std::vector<std::byte>(1); }}});
  Outbox out(scheduler_node);
  const NodeId standby{Role::standby, 9}, shard{Role::shard, 8};
  const auto hear = [&](double when, NodeId from, ToScheduler said) {
    journaled.step(at(when), {from, scheduler_node, Message(std::move(said))}, out);
  };
  hear(1, shard, Hello{0, "s", "tcp://s", {}, 0});
  hear(1, standby, Follow{"build", 7});
  hear(1, standby, JournalAck{7, 1});
  hear(1, shard, Arbitrates{7});
  hear(1, link_node, Disconnected{standby});
  (void)out.take();
  journaled.wake(at(1.1), out);
  EXPECT_TRUE(test::heard<Note>(out.take()).empty());
  journaled.wake(at(3.2), out);
  const auto notes = test::heard<Note>(out.take());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].text.find("decides who of the two leads"), std::string::npos);
}

// One that was lost while nobody could hear it, with the next that bears its name.
TEST(Restarted, SilenceCountsFromNow) {
  test::Script script;
  for (const char* line : {"job workers=1", "s1: Hello left", "w1: Hello ann", "w1: Ready", "wait 8"})
    script.say(line);
  script.say("killed");
  EXPECT_EQ(script.scheduler().members().workers.at(0).present, true);
  script.say("wait 9");
  EXPECT_EQ(script.scheduler().members().workers.at(0).present, true) << "17 s after its last word";
  script.say("wait 2");
  EXPECT_EQ(script.scheduler().members().workers.at(0).present, false);
}

}  // namespace
}  // namespace steelyard
