// Beyond the transcripts: no messages of any node, in any order, break the scheduler, and it is a pure state
// machine.
#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "core/random.h"
#include "tests/scheduler/script_words.h"
#include "tests/scheduler/transcript_script.h"
#include "tests/support/toy_job.h"

namespace steelyard::scheduler_test {
namespace {

using ::testing::IsEmpty;

Scheduler toy(const Job& job) { return {job, {}, balancing::make_policy("equal")}; }

// A report of an owed piece, or sometimes of another one.
Report some_report(Random& random, const Scheduler& scheduler) {
  std::vector<Report> possible;
  for (const RoundState& round : scheduler.rounds()) {
    for (const auto& [id, piece] : round.pieces()) {
      possible.push_back({1, {id, round.round(), round.purpose(), 0, piece.positions}, 0.1});
    }
  }
  Report report;
  if (!possible.empty()) report = possible[random.below(possible.size())];
  if (random.below(10) == 0) report.piece.id = random.below(1000);
  if (random.below(10) == 0) ++report.piece.positions.end;
  if (random.below(10) == 0) ++report.term;
  return report;
}

// A random message of a random node: sometimes right, mostly late, repeated, early or nonsense.
Envelope random_message(Random& random, const Scheduler& scheduler) {
  const std::uint64_t worker = 1 + random.below(4), shard = 1 + random.below(2),
                      round = scheduler.cursor().round();
  const auto make = [&](NodeId from, auto sent) -> Envelope {
    return {from, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(sent))};
  };
  const NodeId w{Role::worker, worker}, s{Role::shard, shard}, k{Role::checkpointer, 1};
  const bool rarely = random.below(100) == 0;
  const std::string name(1, static_cast<char>('a' + (rarely ? random.below(4) : worker)));
  const Interval gap{random.below(40), 40 + random.below(40)};
  switch (random.below(24)) {
    case 0:
      return make(w, Hello{rarely ? 1U : 0U, name, "", DeviceKind::cpu, random.below(3) * 5});
    case 1:
      return make(s, Hello{0, std::to_string(shard), "tcp://x", DeviceKind::cpu, 0});
    case 2:
      return make(w, Ready{});
    case 3:
      return make(w, WorkerBeat{1, {random.below(30)}});
    case 4:
      return make(
          s, ShardBeat{
                 1, round - std::min(round, random.below(2)), round + random.below(2), true, {gap}, false});
    case 5:
      return make(s, Closed{1, round});
    case 6:
      return make(s, GradientRejected{
                         rarely ? 1U : 0U, {some_report(random, scheduler).piece.id, 0, {}, 0, gap}, 0, w});
    case 7:
      return make(s, Covered{1, round, 0, {1.0}});
    case 8:
      return make(k, CheckpointerBeat{});
    case 9:
      return make(k, Saved{round, !rarely, "p"});
    case 10:
      if (random.below(4) != 0) return make(w, Ready{});
      return make(link_node, Disconnected{rarely ? s : w});
    case 11:
      if (random.below(4) != 0) return make(w, Ready{});
      return make(w, Goodbye{});
    default:
      return make(w, some_report(random, scheduler));
  }
}

TEST(Scheduler, NoRandomMessageBreaksAnInvariant) {
  std::uint64_t rounds = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    Job job = test::toy_job(80, 40, 50, 2, 2);
    job.clip_norm = seed % 3 == 0 ? 1 : 0;
    job.heartbeat_timeout = 1e6;
    Scheduler scheduler = toy(job);
    Invariants invariants;
    Time now{std::chrono::seconds(1)};
    for (int i = 0; i < 2000 && !scheduler.finished(); ++i) {
      now = now + milliseconds(static_cast<long>(random.below(300)));
      Outbox out(scheduler_node);
      if (random.below(5) == 0) {
        scheduler.wake(now, out);
      } else {
        scheduler.step(now, random_message(random, scheduler), out);
      }
      ASSERT_THAT(invariants.check(scheduler), IsEmpty()) << "seed " << seed << ", step " << i;
    }
    rounds += scheduler.cursor().round();
  }
  EXPECT_GT(rounds, 500U) << "too few messages were right to train";
}

// The same messages at the same times give the same answers.
TEST(Scheduler, IsAPureMachine) {
  const auto life = [] {
    Random random(5);
    Scheduler scheduler = toy(test::toy_job(80, 40, 50, 2, 2));
    Time now{std::chrono::seconds(1)};
    std::vector<std::string> sent;
    for (int i = 0; i < 1000 && !scheduler.finished(); ++i) {
      now = now + milliseconds(static_cast<long>(random.below(300)));
      Outbox out(scheduler_node);
      scheduler.step(now, random_message(random, scheduler), out);
      scheduler.wake(now, out);
      for (const Envelope& envelope : out.take()) sent.push_back(test::in_words(envelope));
    }
    return sent;
  };
  const auto first = life();
  EXPECT_GT(first.size(), 1000U);
  EXPECT_EQ(first, life());
}

TEST(Scheduler, MisdirectedMessagesAreIgnoredAndCounted) {
  Scheduler scheduler = toy(test::toy_job(80, 40, 1, 2, 2));
  Outbox out(scheduler_node);
  scheduler.step({}, {scheduler_node, scheduler_node, Message(std::in_place_type<ToShard>, BeginRound{})},
                 out);
  scheduler.step({}, {{Role::worker, 9}, scheduler_node, Message(std::in_place_type<ToScheduler>, Report{})},
                 out);
  EXPECT_EQ(scheduler.ignored(), 2U);
  EXPECT_THAT(out.take(), IsEmpty());
}

// Otherwise workers and the checkpointer would keep trying to connect there.
TEST(Scheduler, AServerWithAnInvalidEndpointIsRefused) {
  Scheduler scheduler = toy(test::toy_job(80, 40, 1, 2, 2));
  NodeId shard{Role::shard, 3};
  for (const char* endpoint : {"tcp://0.0.0.0:7071", "tcp://box:7071:34567", "tcp://the box:7071"}) {
    Outbox out(scheduler_node);
    ++shard.number;
    const Hello hello{0, "ann", endpoint, DeviceKind::cpu, 0};
    scheduler.step({}, {shard, scheduler_node, Message(std::in_place_type<ToScheduler>, hello)}, out);
    const auto sent = out.take();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_THAT(std::get<Note>(std::get<ToRecorder>(sent[0].message)).text, ::testing::HasSubstr(endpoint));
    const auto& refuse = std::get<Refuse>(std::get<ToShard>(sent[1].message));
    EXPECT_EQ(refuse.reason, Refusal::endpoint);
    EXPECT_THAT(refuse.text,
                ::testing::AllOf(::testing::HasSubstr("'ann'"), ::testing::HasSubstr("--advertise")));
  }
  EXPECT_TRUE(scheduler.members().shards.empty());
}

// A client with a valid key may repeat an invalid Hello as fast as its network allows.
TEST(Scheduler, InvalidHellosFillNoLogAndDisturbNoRound) {
  test::Script script;
  for (const char* line : {"job samples=64 batch=32 workers=1 shards=1", "s1: Hello left", "w1: Hello ann",
                           "k: Beat", "s1: Beat version=0 opened=0 loaded", "w1: Ready", "w1: Beat"})
    script.run(line);
  Scheduler copy = toy(script.job());
  copy.restore(script.scheduler().save({}), {});
  std::size_t notes = 0, answers = 0;
  const auto count = [&](Outbox& out) {
    for (const Envelope& it : out.take()) {
      notes += std::holds_alternative<ToRecorder>(it.message) ? 1 : 0;
      answers += it.to.role == Role::worker && it.to.number >= 100 ? 1 : 0;
    }
  };
  constexpr std::uint64_t times = 20'000;
  for (std::uint64_t i = 0; i < times; ++i) {
    Outbox out(scheduler_node);
    const NodeId stranger{Role::worker, 100 + i % 3000};
    copy.step(Time{milliseconds(i)},
              {stranger, scheduler_node, Message(std::in_place_type<ToScheduler>, Hello{})}, out);
    count(out);
  }
  EXPECT_EQ(answers, times) << "each is answered";
  EXPECT_LE(notes, Refusals::most_noted);
  EXPECT_EQ(copy.rounds().size(), script.scheduler().rounds().size());
}

TEST(Scheduler, LateRepeatedAndUnknownMessagesAreCounted) {
  test::Script script;
  script.run("job samples=64 batch=32 workers=1 shards=1");
  script.run("w1: Ready");
  script.run("w1: Beat");
  script.run("s1: Beat loaded");
  script.run("s1: Closed 1");
  script.run("k: Saved 7 path");
  EXPECT_EQ(script.scheduler().ignored(), 5U) << "of nodes that are no members, of a version not asked for";
  for (const char* line : {"s1: Hello left", "w1: Hello ann", "w1: Ready", "s1: Beat loaded"})
    script.run(line);
  EXPECT_EQ(script.scheduler().ignored(), 5U);
  script.run("w1: Ready");
  script.run("s1: Closed 9");
  script.run("s1: Covered 5 1");
  script.run("s1: GradientRejected 99 w1");
  EXPECT_EQ(script.scheduler().ignored(), 9U) << "repeated, and of rounds and pieces that do not exist";
  script.run("w1: Report 1");
  EXPECT_EQ(script.scheduler().ignored(), 9U);
  script.run("w1: Report 1");
  EXPECT_EQ(script.scheduler().ignored(), 10U);
}

// A round may close although a report was lost. The positions of that report belong to no worker's part, but
// count as trained.
TEST(Scheduler, ARecordHasAllPositionsOfItsRound) {
  test::Script script;
  script.run("job samples=64 batch=32 workers=2 shards=1");
  for (const char* line : {"s1: Hello left", "w1: Hello ann", "w1: Ready", "w2: Hello ben", "w2: Ready",
                           "s1: Beat loaded", "w1: Report 1", "lost w2", "s1: Closed 1"}) {
    script.run(line);
  }
  const std::vector<std::string> sent = script.run("wait 1.5");
  EXPECT_THAT(sent, ::testing::Contains("* round 0 [0, 32) loss 0 accuracy 0: ann 16 in 1 s"));
}

TEST(Scheduler, AThousandWorkersAreServedInOrder) {
  test::Script script;
  script.run("job samples=4000 batch=2000 workers=1000 shards=1");
  script.run("s1: Hello left");
  for (int i = 1; i <= 1000; ++i) {
    script.run("w" + std::to_string(i) + ": Hello n" + std::to_string(i));
    script.run("w" + std::to_string(i) + ": Ready");
  }
  const auto started = script.run("s1: Beat loaded");
  ASSERT_EQ(started.size(), 1001U);
  EXPECT_EQ(started[1], "w1 <- Start round 0 epoch 0 piece 1 [0, 2)");
  EXPECT_EQ(started[1000], "w1000 <- Start round 0 epoch 0 piece 1000 [1998, 2000)");
}

}  // namespace
}  // namespace steelyard::scheduler_test
