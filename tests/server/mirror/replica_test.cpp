#include "server/mirror/replica.h"

#include <deque>

#include "protocol/codec.h"
#include "tests/server/shard/shard_case.h"

namespace steelyard::test::replica_test {
namespace {

constexpr NodeId mirror_node{Role::shard, 7};

// A primary, its mirror and the messages in transit between them.
struct Replicas : testing::Test {
  explicit Replicas(Job with = shard_job(10, 4, nn::Optimizer::Kind::momentum))
      : primary(std::move(with)),
        job(primary.job),
        mirror({mirror_node, {0, "m", "", DeviceKind::cpu, 0}, {}}) {
    deliver_to_mirror(scheduler_node, Welcome{ShardCase::term, 0, job});
  }

  void deliver(NodeId from, auto message) { sort_out(primary.deliver(from, std::move(message))); }
  void deliver_to_mirror(NodeId from, auto message) {
    Outbox out(mirror_node);
    mirror.step(now(), {from, mirror_node, Message(std::in_place_type<ToShard>, std::move(message))}, out);
    sort_out(out.take());
  }
  void wake_mirror() {
    Outbox out(mirror_node);
    mirror.wake(now(), out);
    sort_out(out.take());
  }
  void wake_primary(double later) { sort_out(primary.wake(later)); }
  // Queues messages between the two in `between`, and collects the others in `others`.
  void sort_out(const std::vector<Envelope>& output) {
    for (const Envelope& it : output) {
      if (it.to.role == Role::shard) between.push_back(it);
      if (it.to.role != Role::shard) others.push_back(it);
    }
  }
  void deliver_all(std::size_t most = 10'000) {
    while (!between.empty() && most-- > 0) {
      const Envelope it = between.front();
      between.pop_front();
      if (it.to == mirror_node) {
        Outbox out(mirror_node);
        mirror.step(now(), it, out);
        sort_out(out.take());
      } else {
        Outbox out(shard_node);
        primary.replica.step(now(), it, out);
        sort_out(out.take());
      }
    }
    wake_mirror();
  }
  void pair(std::uint64_t attempt = 1) {
    deliver_to_mirror(scheduler_node, MirrorOf{ShardCase::term, attempt, shard_node});
    deliver(scheduler_node, Mirror{ShardCase::term, attempt, false, mirror_node, "ipc://mirror"});
    deliver_all();
  }
  void open(Round round, Interval positions) {
    deliver(scheduler_node, BeginRound{ShardCase::term, round, 0, positions, positions.size()});
  }
  void begin_round() {
    primary.load();
    pair();
    open(0, {0, 8});
    deliver_all();
  }
  void push(Round round, Interval positions) {
    for (std::uint32_t slice = 0; slice < primary.slices.size(); ++slice)
      deliver(worker_node(1), primary.push(round, positions, slice));
  }
  void push_to_mirror(Round round, Interval positions) {
    for (std::uint32_t slice = 0; slice < primary.slices.size(); ++slice)
      deliver_to_mirror(worker_node(1), primary.push(round, positions, slice));
  }
  template <class Content>
  [[nodiscard]] std::vector<Content> sent() {
    return test::heard<Content>(others);
  }
  static std::vector<float> parameters(const Shard& shard) {
    std::vector<float> all;
    for (const SliceMemory& slice : shard.slices()) {
      for (std::uint32_t slot = 0; slot < slice.slots(); ++slot) {
        const Blob values = slice.copy_of(slot);
        all.insert(all.end(), values.floats().begin(), values.floats().end());
      }
    }
    return all;
  }
  [[nodiscard]] Time now() const { return primary.now; }
  [[nodiscard]] Version version() const { return primary.shard.version(); }

  ShardCase primary;
  Job job;
  Replica mirror;
  std::deque<Envelope> between;
  std::vector<Envelope> others;
};

TEST_F(Replicas, AreEqualAfterEveryRound) {
  primary.load();
  pair();
  for (Round round = 0; round < 4; ++round) {
    open(round, {round * 8, round * 8 + 8});
    push(round, {round * 8, round * 8 + 8});
    deliver_all();
    ASSERT_EQ(version(), round + 1);
    EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
    EXPECT_EQ(mirror.shard().version(), round + 1);
  }
}

TEST_F(Replicas, ThePrimarySendsNothingTheMirrorLacks) {
  begin_round();
  others.clear();
  push(0, {0, 8});
  deliver(worker_node(1), Pull{ShardCase::term, 1});
  EXPECT_EQ(version(), 0u);
  EXPECT_TRUE(sent<Parameters>().empty());
  EXPECT_TRUE(sent<Closed>().empty());
  deliver_all();
  EXPECT_EQ(version(), 1u);
  EXPECT_EQ(sent<Parameters>().size(), primary.slices.size());
  EXPECT_EQ(sent<Closed>().size(), 1u);  // the mirror sends nothing
}

TEST_F(Replicas, APromotedMirrorContinuesTheRound) {
  primary.load();
  pair();
  open(0, {0, 8});
  push(0, {0, 4});
  deliver_all();
  deliver_to_mirror(scheduler_node, Promote{ShardCase::term});
  others.clear();
  push_to_mirror(0, {0, 4});  // resent
  push_to_mirror(0, {4, 8});
  deliver_to_mirror(worker_node(1), Pull{ShardCase::term, 1});
  EXPECT_EQ(sent<Parameters>().size(), primary.slices.size());
  EXPECT_EQ(sent<Closed>().size(), 1u);
  PlainLoop loop(job);
  loop.round({0, 8});
  EXPECT_EQ(sent<Parameters>()[0].values.floats()[0], loop.parameters[0]);
}

// A worker may receive the roster before the mirror receives Promote, which uses another connection.
TEST_F(Replicas, APromotedMirrorHandlesEarlierMessagesOfWorkers) {
  begin_round();
  push_to_mirror(0, {0, 8});
  deliver_to_mirror(worker_node(1), Pull{ShardCase::term, 1});
  others.clear();
  deliver_to_mirror(scheduler_node, Promote{ShardCase::term});
  EXPECT_EQ(sent<Parameters>().size(), primary.slices.size());
  EXPECT_EQ(mirror.shard().version(), 1u);
}

TEST_F(Replicas, AMirrorLimitsEarlyMessagesOfWorkers) {
  begin_round();
  push_to_mirror(0, {0, 8});
  for (int i = 0; i < 100'000; ++i) deliver_to_mirror(worker_node(1), Pull{ShardCase::term, 1});
  deliver_to_mirror(scheduler_node, Promote{ShardCase::term});
  EXPECT_EQ(mirror.shard().version(), 0u);  // messages beyond the limit were dropped
  EXPECT_GT(mirror.ignored(), 99'000u);
}

TEST_F(Replicas, APromotedMirrorIgnoresItsFormerPrimary) {
  begin_round();
  deliver_to_mirror(scheduler_node, Promote{ShardCase::term});
  push(0, {0, 8});
  deliver_all();
  EXPECT_EQ(version(), 0u);  // it waits for an acknowledgement that never comes
  EXPECT_EQ(mirror.shard().version(), 0u);
}

TEST_F(Replicas, AMirrorIsFilledBetweenRoundsDuringTraining) {
  primary.load();
  open(0, {0, 8});
  deliver_all();
  push(0, {0, 4});
  pair();  // in the middle of a round
  EXPECT_FALSE(mirror.is_mirror());
  push(0, {4, 8});
  EXPECT_EQ(version(), 1u);  // it does not wait
  open(1, {8, 16});
  deliver_all();
  EXPECT_TRUE(mirror.is_mirror());
  push(1, {8, 16});
  deliver_all();
  EXPECT_EQ(version(), 2u);
  EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
}

// Another shard may still need it, if a worker was lost before it had pushed to all shards.
TEST_F(Replicas, AMirrorFilledLaterHasThePreviousVersion) {
  primary.load();
  open(0, {0, 8});
  push(0, {0, 8});
  pair();
  deliver_to_mirror(scheduler_node, Promote{ShardCase::term});
  others.clear();
  deliver_to_mirror(worker_node(2), Pull{ShardCase::term, 0});
  ASSERT_EQ(sent<Parameters>().size(), primary.slices.size());
  EXPECT_EQ(sent<Parameters>()[0].version, 0u);
  EXPECT_EQ(sent<Parameters>()[0].values.floats()[0], 0.0F);
}

TEST_F(Replicas, AMirrorCountsAsFilledOnceItHasEverything) {
  primary.load();
  deliver_to_mirror(scheduler_node, MirrorOf{ShardCase::term, 1, shard_node});
  EXPECT_EQ(sent<ShardBeat>().back().mirror.attempt, 1u)
      << "the scheduler waits for this before it sends Mirror";
  others.clear();
  deliver(scheduler_node, Mirror{ShardCase::term, 1, false, mirror_node, "ipc://mirror"});
  ASSERT_EQ(sent<ShardBeat>().size(), 1u);
  EXPECT_FALSE(sent<ShardBeat>()[0].mirror.filled);
  deliver_all(1);
  EXPECT_FALSE(sent<ShardBeat>().back().mirror.filled);
  deliver_all();
  const std::vector<ShardBeat> beats = sent<ShardBeat>();
  const auto filled = [](const ShardBeat& it) { return it.mirror.filled && it.mirror.attempt == 1; };
  EXPECT_EQ(std::ranges::count_if(beats, filled), 1);
}

TEST_F(Replicas, APrimaryContinuesAloneOnRequest) {
  begin_round();
  push(0, {0, 8});
  between.clear();  // the mirror is gone
  deliver(link_node, Disconnected{mirror_node});
  EXPECT_EQ(version(), 0u);
  EXPECT_TRUE(sent<ShardBeat>().back().mirror.late);
  deliver(scheduler_node, Mirror{ShardCase::term, 2});
  EXPECT_EQ(version(), 1u);
  EXPECT_FALSE(sent<ShardBeat>().back().mirror.late);
  EXPECT_EQ(sent<ShardBeat>().back().mirror.attempt, 2u);
}

TEST_F(Replicas, AMirrorIsRefilledAfterADisconnection) {
  primary.load();
  pair();
  open(0, {0, 8});
  push(0, {0, 4});
  deliver_all();
  push(0, {4, 6});
  between.pop_front();  // the first of them is lost in transit
  deliver(link_node, Disconnected{mirror_node});
  deliver_all();
  pair(2);
  push(0, {6, 8});
  deliver_all();
  EXPECT_EQ(version(), 1u);
  open(1, {8, 16});
  push(1, {8, 16});
  deliver_all();
  EXPECT_EQ(version(), 2u);
  EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
}

TEST_F(Replicas, AReplacedMirrorJoinsAgain) {
  begin_round();
  others.clear();
  const Refuse refuse{Refusal::replaced, "another one is in its place"};
  deliver_to_mirror(scheduler_node, refuse);
  deliver_to_mirror(scheduler_node, refuse);  // the answer to another heartbeat
  EXPECT_FALSE(mirror.finished());
  EXPECT_FALSE(mirror.is_mirror());
  wake_mirror();
  EXPECT_EQ(sent<Hello>().size(), 1u);
  deliver_to_mirror(scheduler_node, Welcome{ShardCase::term, 0, job});
  push(0, {0, 8});
  pair(2);
  deliver_all();
  EXPECT_TRUE(mirror.is_mirror());
  EXPECT_EQ(version(), 1u);
  EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
}

TEST_F(Replicas, ASilentMirrorIsReported) {
  primary.load();
  pair();
  open(0, {0, 8});
  between.clear();
  wake_primary(0.5);
  EXPECT_FALSE(sent<ShardBeat>().back().mirror.late);
  wake_primary(2);
  EXPECT_TRUE(sent<ShardBeat>().back().mirror.late);
}

TEST_F(Replicas, AnOlderAttemptIsIgnored) {
  primary.load();
  pair(3);
  deliver(scheduler_node, Mirror{ShardCase::term, 2});
  open(0, {0, 8});
  push(0, {0, 8});
  EXPECT_EQ(version(), 0u);
  deliver_all();
  EXPECT_EQ(version(), 1u);
}

// Otherwise any server with a key could send it data, and the real primary would be ignored.
TEST_F(Replicas, AMirrorAcceptsOnlyTheNamedPrimary) {
  primary.load();
  pair();
  const Frames frames = encode(Message(ToShard(IdleTick{})));
  Replicate false_primary{ShardCase::term, UINT64_MAX, 0, scheduler_node};
  false_primary.words.assign(reinterpret_cast<const char*>(frames.header.data()), frames.header.size());
  for (const std::uint64_t attempt : {std::uint64_t{1}, std::uint64_t{2}, UINT64_MAX}) {
    false_primary.attempt = attempt;
    deliver_to_mirror({Role::shard, 99}, false_primary);
  }
  EXPECT_TRUE(between.empty()) << "nothing may be acknowledged";
  open(0, {0, 8});
  push(0, {0, 8});
  deliver_all();
  EXPECT_EQ(version(), 1u);
  EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
}

TEST_F(Replicas, APrimaryIgnoresReplicates) {
  primary.load();
  const Frames frames = encode(Message(ToShard(IdleTick{})));
  Replicate forward{ShardCase::term, 1, 0, worker_node(1)};
  forward.words.assign(reinterpret_cast<const char*>(frames.header.data()), frames.header.size());
  deliver(mirror_node, forward);
  EXPECT_FALSE(primary.replica.is_mirror());
  EXPECT_TRUE(primary.shard.loaded());
  EXPECT_TRUE(between.empty());
}

TEST_F(Replicas, AMirrorIgnoresPushesOfWorkers) {
  begin_round();
  push_to_mirror(0, {0, 8});
  EXPECT_EQ(mirror.shard().version(), 0u);
}

TEST_F(Replicas, UndecodableReplicatesAreIgnored) {
  primary.load();
  pair();
  open(0, {0, 8});
  std::get<Replicate>(std::get<ToShard>(between.front().message)).words = "SY";
  deliver_all();
  others.clear();
  wake_primary(1);
  EXPECT_EQ(sent<ShardBeat>().at(0).opened, 0u);  // the mirror has not confirmed it
  EXPECT_GT(mirror.ignored(), 0u);
}

struct GatheringReplicas : Replicas {
  GatheringReplicas() : Replicas(gathering()) {}
  static Job gathering() {
    Job job = shard_job(10, 4);
    job.sync = parse_sync("nsoft:1");
    job.global_batch = 8;
    job.workers = 2;
    return job;
  }
};

TEST_F(GatheringReplicas, StepTogetherWhenNoMorePushesArrive) {
  primary.load();
  pair();
  open(0, {0, 4});  // a short round: the quorum is never reached
  push(0, {0, 4});
  deliver_all();
  wake_primary(1);
  deliver_all();
  wake_primary(1);
  deliver_all();
  EXPECT_EQ(version(), 1u);
  EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
}

struct ReplicasWithHubs : Replicas {
  ReplicasWithHubs() : Replicas(with_hubs()) {}
  static Job with_hubs() {
    Job job = shard_job(10, 4);
    job.sync = parse_sync("mll:1:2:2");
    return job;
  }
  void push_to(HubNumber hub, Round round, Interval positions) {
    for (std::uint32_t slice = 0; slice < primary.slices.size(); ++slice) {
      Push push = primary.push(round, positions, slice);
      push.piece.hub = hub;
      deliver(worker_node(hub), std::move(push));
    }
  }
};

TEST_F(ReplicasWithHubs, AreEqualFromTheStart) {
  primary.load();
  pair();
  for (Round round = 0; round < 3; ++round) {
    const Position begin = round * 8;
    open(round, {begin, begin + 8});
    push_to(1, round, {begin, begin + 4});
    push_to(2, round, {begin + 4, begin + 8});
    deliver_all();
    EXPECT_EQ(version(), round + 1);
    EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
  }
}

TEST_F(ReplicasWithHubs, AreNotFilledWhileHubsDiffer) {
  primary.load();
  open(0, {0, 8});
  push_to(1, 0, {0, 4});
  push_to(2, 0, {4, 8});
  pair();
  EXPECT_EQ(version(), 1u);
  EXPECT_FALSE(mirror.is_mirror());
}

struct ReplicasWithWaitingPushes : Replicas {
  ReplicasWithWaitingPushes() : Replicas(with_waiting()) {}
  static Job with_waiting() {
    Job job = shard_job(10, 4);
    job.sync = parse_sync("ksoft-wait:2");
    return job;
  }
};

TEST_F(ReplicasWithWaitingPushes, AreEqualFromTheStart) {
  primary.load();
  pair();
  for (const std::uint64_t number : {1U, 2U, 3U}) deliver(worker_node(number), Pull{primary.term, 0, 1});
  open(0, {0, 8});
  for (const Interval part : {Interval{0, 2}, {2, 4}, {4, 8}}) {
    push(0, part);
    deliver_all();
    EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
  }
  EXPECT_EQ(version(), 1u);
}

TEST_F(ReplicasWithWaitingPushes, AreNotFilledOnceWorkersHaveParameters) {
  primary.load();
  deliver(worker_node(1), Pull{primary.term, 0, 1});
  pair();
  EXPECT_FALSE(mirror.is_mirror());
}

}  // namespace
}  // namespace steelyard::test::replica_test
