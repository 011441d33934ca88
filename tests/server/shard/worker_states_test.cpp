// Parts of the state of workers, and mirrors that keep the same ones.
#include "server/shard/worker_states.h"

#include <memory>
#include <tuple>

#include "server/mirror/replica.h"
#include "tests/server/shard/shard_case.h"
#include "tests/support/memory_file.h"

namespace steelyard::test::worker_states_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Term term = ShardCase::term;

std::string text(float value) { return std::to_string(static_cast<int>(value)); }
Blob bytes(float value) { return Blob::copy_of(std::vector<float>(state_part_bytes / sizeof(float), value)); }
PutState put(std::uint64_t attempt, Version version, std::uint32_t part, float value) {
  return {term, attempt, version, part, 6, bytes(value)};
}

// The parts 0, 2 and 4 of 6.
class WorkerStatesTest : public ::testing::Test {
 protected:
  // The answers; `valid` is the result of put().
  std::vector<Envelope> store(const PutState& it, NodeId from = worker_node(1)) {
    Outbox out(shard_node);
    valid = states.put(from, it, out);
    return out.take();
  }
  std::vector<Envelope> get(std::uint64_t attempt, Version version, std::uint32_t part,
                            NodeId from = worker_node(2)) {
    Outbox out(shard_node);
    states.get(from, {term, attempt, version, part}, out);
    return out.take();
  }
  // "to worker 2: part 4 of 6 of attempt 3 is 7"
  static std::vector<std::string> words(const std::vector<Envelope>& sent) {
    std::vector<std::string> all;
    for (const Envelope& envelope : sent) {
      const std::string to = "to " + to_string(envelope.to) + ": ";
      for (const StateStored& it : heard<StateStored>({envelope}))
        all.push_back(to + "stored " + std::to_string(it.attempt) + "/" + std::to_string(it.part));
      for (const WorkerState& it : heard<WorkerState>({envelope})) {
        all.push_back(to + std::to_string(it.attempt) + "/" + std::to_string(it.part) + " of " +
                      std::to_string(it.parts) +
                      (it.bytes.empty() ? "" : " is " + text(it.bytes.floats()[0])));
      }
    }
    return all;
  }
  static std::string to(NodeId node) { return "to " + to_string(node) + ": "; }

  WorkerStates states;
  bool valid = false;
};

TEST_F(WorkerStatesTest, TheCheckpointerGetsAnAnswerForAMissingPart) {
  const auto answers = heard<NotYet>(get(0, 9, 0, checkpointer_node));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].version, 9U);
  EXPECT_THAT(words(store(put(3, 9, 0, 7))),
              ElementsAre(to(worker_node(1)) + "stored 3/0", to(checkpointer_node) + "3/0 of 6 is 7"));
}

TEST_F(WorkerStatesTest, KeepsPartsForOthers) {
  EXPECT_THAT(words(store(put(3, 9, 0, 7))), ElementsAre(to(worker_node(1)) + "stored 3/0"));
  EXPECT_TRUE(valid);
  EXPECT_THAT(words(get(3, 9, 0)), ElementsAre(to(worker_node(2)) + "3/0 of 6 is 7"));
  EXPECT_THAT(words(get(3, 9, 0, checkpointer_node)), ElementsAre(to(checkpointer_node) + "3/0 of 6 is 7"));
  EXPECT_THAT(words(store(put(3, 9, 0, 8))), ElementsAre(to(worker_node(1)) + "stored 3/0")) << "repeated";
  EXPECT_THAT(words(get(3, 9, 0)), ElementsAre(to(worker_node(2)) + "3/0 of 6 is 7"));
}

TEST_F(WorkerStatesTest, ARequestWaitsForItsPart) {
  EXPECT_THAT(get(3, 9, 0), IsEmpty());
  EXPECT_THAT(get(3, 9, 0), IsEmpty()) << "repeated";
  EXPECT_THAT(get(3, 9, 2), IsEmpty());
  EXPECT_THAT(words(store(put(3, 9, 2, 5))),
              ElementsAre(to(worker_node(1)) + "stored 3/2", to(worker_node(2)) + "3/2 of 6 is 5"));
  EXPECT_THAT(words(store(put(3, 9, 0, 6))),
              ElementsAre(to(worker_node(1)) + "stored 3/0", to(worker_node(2)) + "3/0 of 6 is 6"))
      << "answered once";
  EXPECT_THAT(words(store(put(3, 9, 4, 6))), ElementsAre(to(worker_node(1)) + "stored 3/4"));
}

TEST_F(WorkerStatesTest, AnyAttemptOfTheVersionAnswersAttemptZero) {
  EXPECT_THAT(words(get(0, 9, 0, checkpointer_node)), IsEmpty());
  EXPECT_THAT(words(store(put(3, 8, 0, 1))), ElementsAre(to(worker_node(1)) + "stored 3/0"))
      << "of an earlier version";
  EXPECT_THAT(words(store(put(4, 9, 0, 2))),
              ElementsAre(to(worker_node(1)) + "stored 4/0", to(checkpointer_node) + "4/0 of 6 is 2"));
}

TEST_F(WorkerStatesTest, ALaterAttemptReplacesAnEarlierOne) {
  store(put(3, 9, 0, 1));
  EXPECT_THAT(get(3, 9, 2), IsEmpty());
  EXPECT_THAT(words(get(0, 9, 2, checkpointer_node)), IsEmpty());
  EXPECT_THAT(get(5, 11, 2, worker_node(4)), IsEmpty());
  EXPECT_THAT(words(store(put(4, 10, 0, 2))),
              ElementsAre(to(worker_node(1)) + "stored 4/0", to(worker_node(2)) + "3/2 of 0",
                          to(checkpointer_node) + "0/2 of 0"))
      << "a number of 0 parts: superseded";
  EXPECT_THAT(words(get(3, 9, 0)), ElementsAre(to(worker_node(2)) + "3/0 of 0"));
  EXPECT_THAT(words(store(put(3, 9, 4, 3))), ElementsAre(to(worker_node(1)) + "stored 3/4"))
      << "so that the former upload ends";
  EXPECT_THAT(states.kept(), ::testing::SizeIs(1)) << "but it is not kept";
  EXPECT_THAT(words(store(put(5, 11, 2, 3))),
              ElementsAre(to(worker_node(1)) + "stored 5/2", to(worker_node(4)) + "5/2 of 6 is 3"));
}

TEST_F(WorkerStatesTest, MalformedPartsAreRefused) {
  store(put(3, 9, 0, 1));
  const auto refused = [&](auto change) {
    PutState wrong = put(3, 9, 2, 2);
    change(wrong);
    return store(wrong).empty() && !valid;
  };
  EXPECT_TRUE(refused([](PutState& it) { it.attempt = 0; }));
  EXPECT_TRUE(refused([](PutState& it) { it.part = 6; }));
  EXPECT_TRUE(refused([](PutState& it) { it.parts = 0; }));
  EXPECT_TRUE(refused([](PutState& it) { it.bytes = {}; }));
  EXPECT_TRUE(refused([](PutState& it) {
    it.bytes = Blob::copy_of(std::vector<float>(state_part_bytes / sizeof(float) + 1));
  })) << "too long";
  EXPECT_TRUE(refused([](PutState& it) { it.version = 8; })) << "another version in the same attempt";
  EXPECT_TRUE(refused([](PutState& it) { it.parts = 7; })) << "another number of parts in the same attempt";
  EXPECT_THAT(states.kept(), ::testing::SizeIs(1));
}

TEST_F(WorkerStatesTest, PartsAreInTheFileOfTheirAttempt) {
  std::vector<std::shared_ptr<MemoryFile>> files;
  states = WorkerStates([&] { return files.emplace_back(std::make_shared<MemoryFile>()); });
  store(put(3, 9, 2, 7));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0]->contents.size(), 3 * state_part_bytes);
  EXPECT_THAT(words(get(3, 9, 2)), ElementsAre(to(worker_node(2)) + "3/2 of 6 is 7"));
  EXPECT_EQ(states.kept().at(0).bytes.floats()[0], 7);
  const std::weak_ptr<MemoryFile> former = files[0];
  files.clear();
  store(put(4, 9, 0, 8));
  EXPECT_TRUE(former.expired());
  EXPECT_THAT(words(get(4, 9, 0)), ElementsAre(to(worker_node(2)) + "4/0 of 6 is 8"));
}

TEST_F(WorkerStatesTest, PartsThatCannotBeWrittenStayInMemory) {
  states =
      WorkerStates([]() -> std::shared_ptr<StateFile> { throw Failure(ExitCode::io, "the disk is full"); });
  EXPECT_THAT(words(store(put(3, 9, 0, 7))), ElementsAre(to(worker_node(1)) + "stored 3/0"));
  EXPECT_THAT(words(get(3, 9, 0)), ElementsAre(to(worker_node(2)) + "3/0 of 6 is 7"));
}

TEST_F(WorkerStatesTest, RequestsOfADisconnectedWorkerAreForgotten) {
  get(3, 9, 0);
  get(3, 9, 0, worker_node(4));
  states.forget(worker_node(2));
  EXPECT_THAT(words(store(put(3, 9, 0, 1))),
              ElementsAre(to(worker_node(1)) + "stored 3/0", to(worker_node(4)) + "3/0 of 6 is 1"));
}

TEST_F(WorkerStatesTest, KeptPartsFillAnother) {
  for (const std::uint32_t part : {4, 0}) store(put(3, 9, part, static_cast<float>(part)));
  WorkerStates other;
  for (const PutState& it : states.kept()) {
    Outbox out(shard_node);
    EXPECT_TRUE(other.put(shard_node, it, out));
    EXPECT_THAT(out.take(), IsEmpty()) << "its primary needs no answer";
  }
  states = other;
  EXPECT_THAT(words(get(3, 9, 4)), ElementsAre(to(worker_node(2)) + "3/4 of 6 is 4"));
  EXPECT_THAT(words(get(0, 9, 0)), ElementsAre(to(worker_node(2)) + "3/0 of 6 is 0"));
}

// ---- in a shard

constexpr NodeId mirror_node{Role::shard, 7};

class WorkerStatesOfAShard : public ::testing::Test {
 protected:
  void SetUp() override { shard.load(); }

  ShardCase shard{shard_job(10, 4, nn::Optimizer::Kind::worker)};
};

TEST_F(WorkerStatesOfAShard, AnswersOnlyItsOwnTerm) {
  PutState other = put(1, 0, 0, 7);
  ++other.term;
  EXPECT_THAT(shard.deliver(worker_node(1), other), IsEmpty());
  shard.deliver(worker_node(1), put(1, 0, 0, 7));
  EXPECT_THAT(shard.sent<StateStored>(), ::testing::SizeIs(1));
  EXPECT_THAT(shard.deliver(worker_node(2), GetState{term + 1, 1, 0, 0}), IsEmpty());
  shard.deliver(worker_node(2), GetState{term, 1, 0, 0});
  EXPECT_THAT(shard.sent<WorkerState>(), ::testing::SizeIs(1));
}

TEST_F(WorkerStatesOfAShard, ADisconnectedWorkerGetsNoAnswer) {
  shard.deliver(worker_node(2), GetState{term, 1, 0, 0});
  shard.deliver(link_node, Disconnected{worker_node(2)});
  shard.deliver(worker_node(1), put(1, 0, 0, 7));
  EXPECT_THAT(shard.sent<WorkerState>(), IsEmpty());
}

// The primary had one part before it filled its mirror, and gets another one afterwards.
TEST_F(WorkerStatesOfAShard, APromotedMirrorHasTheParts) {
  Replica mirror{{mirror_node, {0, "m", "", DeviceKind::cpu, 0}, {}}};
  const auto step = [&](NodeId from, ToShard message) {
    Outbox out(mirror_node);
    mirror.step(shard.now, {from, mirror_node, Message(std::move(message))}, out);
    return out.take();
  };
  const auto forward = [&](std::vector<Envelope> sent) {
    for (bool any = true; any;) {
      std::vector<Envelope> answers;
      for (const Envelope& it : sent) {
        if (it.to != mirror_node) continue;
        for (const Envelope& answer : step(shard_node, std::get<ToShard>(it.message))) {
          const auto& ack = std::get<ReplicateAck>(std::get<ToShard>(answer.message));
          const auto& more = shard.deliver(mirror_node, ack);
          answers.insert(answers.end(), more.begin(), more.end());
        }
      }
      any = !answers.empty();
      sent = std::move(answers);
    }
  };
  step(scheduler_node, Welcome{term, 0, shard.job});
  step(scheduler_node, MirrorOf{term, 1, shard_node});
  shard.deliver(worker_node(1), put(1, 0, 0, 7));
  forward(shard.deliver(scheduler_node, Mirror{term, 1, false, mirror_node, "ipc://mirror"}));
  forward(shard.deliver(worker_node(1), put(1, 0, 2, 8)));
  step(scheduler_node, Promote{term});
  for (const auto& [part, value] : {std::pair(0U, 7.0F), std::pair(2U, 8.0F)}) {
    const auto answers = heard<WorkerState>(step(worker_node(2), GetState{term, 1, 0, part}));
    ASSERT_EQ(answers.size(), 1U) << part;
    EXPECT_EQ(answers[0].bytes.floats()[0], value);
  }
}

}  // namespace
}  // namespace steelyard::test::worker_states_test
