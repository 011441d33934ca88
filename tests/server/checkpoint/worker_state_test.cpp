// Checkpoints of jobs whose workers take the optimizer steps: the state that a worker has uploaded.
#include <filesystem>
#include <fstream>

#include "server/checkpoint/manifest.h"
#include "tests/server/checkpoint/checkpointer_case.h"
#include "tests/support/memory_file.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::test::worker_state_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

std::string refusal(const std::string& path) {
  try {
    read_checkpoint(path);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::io);
    return failure.what();
  }
  return "accepted";
}
std::vector<std::byte> state_in(const std::string& path) {
  const Snapshot snapshot = read_checkpoint(path);
  EXPECT_TRUE(snapshot.on_workers);
  if (!snapshot.worker_state) return {};
  const Blob whole = snapshot.worker_state->read(0, snapshot.worker_state->size());
  return {whole.bytes().begin(), whole.bytes().end()};
}

// ---- on disk

class WorkerStateOnDisk : public ::testing::Test {
 protected:
  // Written in two parts, the last one first.
  std::string written() {
    Snapshot about;
    append(about.layout, "w", {10});
    about.layout.slice_size = 10;
    about.progress.version = 8;
    about.on_workers = true;
    const auto sink = open_checkpoint(folder.path("checkpoints"), about, 0);
    sink->put_state(60, MemoryFile(state).read(60, 40));
    sink->put_state(0, MemoryFile(state).read(0, 60));
    return sink->finish(8);
  }

  const TemporaryFolder folder;
  const std::vector<std::byte> state = random_bytes(100, 1);
  const std::string path = written();
  const std::string file = path + "/worker_state.bin";
};

TEST_F(WorkerStateOnDisk, ReplacesModelAndOptimizer) {
  EXPECT_TRUE(fs::exists(file));
  EXPECT_FALSE(fs::exists(path + "/model.safetensors"));
  EXPECT_TRUE(read_manifest(path).on_workers());
  EXPECT_TRUE(state_in(path) == state);
  const Snapshot snapshot = read_checkpoint(path);
  EXPECT_EQ(snapshot.progress.version, 8U);
  EXPECT_EQ(snapshot.steps, 8U);
  EXPECT_THAT(snapshot.parameters, IsEmpty());
  EXPECT_THROW(snapshot.worker_state->write(0, {}), Failure);
}

TEST_F(WorkerStateOnDisk, DamageIsRefused) {
  const std::string whole = folder.text("checkpoints/8/worker_state.bin");
  const auto with = [&](const std::string& text) {
    fs::remove(file);
    std::ofstream(file, std::ios::binary) << text;
    return refusal(path);
  };
  for (std::size_t at = 0; at < whole.size(); at += 9) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_THAT(with(flipped), HasSubstr(file)) << at;
    EXPECT_THAT(with(whole.substr(0, at)), HasSubstr(file)) << at;
  }
  EXPECT_EQ(with(whole), "accepted");
  EXPECT_THAT(with(whole + "x"), HasSubstr(file)) << "longer than in the manifest";
  fs::remove(file);
  EXPECT_THAT(refusal(path), HasSubstr("cannot be opened"));
}

// ---- the checkpointer

const std::vector<std::byte> one = random_bytes(2 * state_part_bytes + 5, 3),
                             other = random_bytes(2 * state_part_bytes + 5, 4);

class WorkerStateCheckpointer : public CheckpointerCase {
 protected:
  WorkerStateCheckpointer()
      : CheckpointerCase(resumed(), [this](const Snapshot& about, std::size_t slots) {
          return open_checkpoint(folder.path("checkpoints"), about, slots);
        }) {}
  void SetUp() override { deliver(scheduler_node, roster()); }

  static Snapshot resumed() {
    Snapshot snapshot = initial();
    snapshot.on_workers = true;
    snapshot.worker_state = std::make_shared<MemoryFile>(one);
    return snapshot;
  }
  static WorkerState part(std::uint64_t attempt, Version version, std::uint32_t number,
                          const std::vector<std::byte>& of) {
    return {2, attempt, version, number, 3, state_part(of, number)};
  }
  // Shard, attempt and part of each request, or of each part that was sent.
  template <class Content>
  [[nodiscard]] std::vector<std::tuple<NodeId, std::uint64_t, std::uint32_t>> sent_parts() const {
    std::vector<std::tuple<NodeId, std::uint64_t, std::uint32_t>> all;
    for (const auto& [to, it] : sent<ToShard, Content>()) all.emplace_back(to, it.attempt, it.part);
    return all;
  }

  const TemporaryFolder folder;
};

TEST_F(WorkerStateCheckpointer, InAResumedJobItUploadsTheState) {
  wake(1);
  EXPECT_THAT(sent_parts<PutState>(), ElementsAre(std::tuple(left, 1U, 0U)));
  EXPECT_EQ((sent<ToShard, PutState>()[0].second.version), 7U);
  deliver(left, StateStored{2, 1, 0});
  EXPECT_THAT(sent_parts<PutState>(), ElementsAre(std::tuple(right, 1U, 1U), std::tuple(left, 1U, 2U)));
  wake(3);
  EXPECT_THAT(sent_parts<PutState>(), ElementsAre(std::tuple(right, 1U, 1U))) << "the answer was lost";
  deliver(right, StateStored{2, 1, 1});
  deliver(left, StateStored{2, 1, 2});
  wake(10);
  EXPECT_THAT(sent_parts<PutState>(), IsEmpty());
}

TEST_F(WorkerStateCheckpointer, SavesTheStateThatAWorkerUploads) {
  deliver(scheduler_node, save(8));
  EXPECT_THAT(sent_parts<GetState>(), ElementsAre(std::tuple(left, 0U, 0U))) << "of any attempt";
  EXPECT_THAT((sent<ToShard, Fetch>()), IsEmpty());
  deliver(left, part(5, 8, 0, one));
  EXPECT_THAT(sent_parts<GetState>(), ElementsAre(std::tuple(right, 5U, 1U), std::tuple(left, 5U, 2U)));
  deliver(left, part(5, 8, 2, one));
  EXPECT_THAT(saved(), IsEmpty());
  deliver(right, part(5, 8, 1, one));
  ASSERT_THAT(saved(), SizeIs(1));
  EXPECT_TRUE(saved()[0].ok) << saved()[0].text;
  EXPECT_TRUE(state_in(saved()[0].text) == one);
}

TEST_F(WorkerStateCheckpointer, AShardThatSendsNoPartIsNamed) {
  deliver(scheduler_node, save(8));
  deliver(left, part(5, 8, 0, one));
  deliver(left, part(5, 8, 2, one));
  wake(6);
  const auto silent = sent<ToScheduler, CheckpointerBeat>().at(0).second.silent;
  ASSERT_THAT(silent, SizeIs(1));
  EXPECT_EQ(silent[0].node, right);
  for (int i = 0; i < 100 && saved().empty(); ++i) wake(1);
  ASSERT_THAT(saved(), SizeIs(1));
  EXPECT_FALSE(saved()[0].ok);
  EXPECT_THAT(saved()[0].text, HasSubstr("server 'ben' at tcp://b:2 has not answered"));
}

TEST_F(WorkerStateCheckpointer, AShardThatLacksThePartIsNotSilent) {
  deliver(scheduler_node, save(8));
  for (int i = 0; i < 100; ++i) {
    deliver(left, NotYet{8});
    wake(1);
    for (const auto& [to, beat] : sent<ToScheduler, CheckpointerBeat>()) EXPECT_THAT(beat.silent, IsEmpty());
    ASSERT_THAT(saved(), IsEmpty());
  }
}

TEST_F(WorkerStateCheckpointer, BeginsAgainIfAnotherWorkerUploads) {
  deliver(scheduler_node, save(8));
  deliver(left, part(5, 8, 0, one));
  deliver(right, WorkerState{2, 5, 8, 1, 0, {}});
  EXPECT_THAT(saved(), IsEmpty());
  EXPECT_THAT(sent_parts<GetState>(), ElementsAre(std::tuple(left, 0U, 0U)));
  for (const std::uint32_t number : {0, 1, 2}) deliver(left, part(6, 8, number, other));
  ASSERT_THAT(saved(), SizeIs(1));
  EXPECT_TRUE(state_in(saved()[0].text) == other);
}

TEST_F(WorkerStateCheckpointer, ASupersededStateFailsTheCheckpoint) {
  deliver(scheduler_node, save(8));
  deliver(left, WorkerState{2, 0, 8, 0, 0, {}});
  ASSERT_THAT(saved(), SizeIs(1));
  EXPECT_FALSE(saved()[0].ok);
  EXPECT_THAT(saved()[0].text, HasSubstr("superseded"));
  EXPECT_THAT(folder.path("checkpoints/8"),
              ::testing::Not(::testing::Truly([](const std::string& it) { return fs::exists(it); })));
}

}  // namespace
}  // namespace steelyard::test::worker_state_test
