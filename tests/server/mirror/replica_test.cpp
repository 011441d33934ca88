#include "server/mirror/replica.h"

#include <deque>

#include "protocol/codec.h"
#include "tests/server/shard/shard_case.h"

namespace steelyard::test::replica_test {
namespace {

constexpr NodeId mirror_node{Role::shard, 7};

// A primary and its mirror, and what is on its way between them.
struct Replicas : testing::Test {
  explicit Replicas(Job with = shard_job(10, 4, nn::Optimizer::Kind::momentum))
      : primary(std::move(with)),
        job(primary.job),
        mirror({mirror_node, {0, "m", "", DeviceKind::cpu, 0}, {}}) {
    tell_mirror(scheduler_node, Welcome{ShardCase::term, 0, job});
  }

  void tell(NodeId from, auto message) { sort(primary.tell(from, std::move(message))); }
  void tell_mirror(NodeId from, auto message) {
    Outbox out(mirror_node);
    mirror.step(now(), {from, mirror_node, Message(std::in_place_type<ToShard>, std::move(message))}, out);
    sort(out.take());
  }
  void wake_mirror() {
    Outbox out(mirror_node);
    mirror.wake(now(), out);
    sort(out.take());
  }
  void wake_primary(double later) { sort(primary.wake(later)); }
  // What is between the two travels; the rest is what others hear.
  void sort(const std::vector<Envelope>& said) {
    for (const Envelope& it : said) {
      if (it.to.role == Role::shard) between.push_back(it);
      if (it.to.role != Role::shard) others.push_back(it);
    }
  }
  void travel(std::size_t most = 10'000) {
    while (!between.empty() && most-- > 0) {
      const Envelope it = between.front();
      between.pop_front();
      if (it.to == mirror_node) {
        Outbox out(mirror_node);
        mirror.step(now(), it, out);
        sort(out.take());
      } else {
        Outbox out(shard_node);
        primary.replica.step(now(), it, out);
        sort(out.take());
      }
    }
    wake_mirror();
  }
  void pair(std::uint64_t attempt = 1) {
    tell_mirror(scheduler_node, MirrorOf{ShardCase::term, attempt, shard_node});
    tell(scheduler_node, Mirror{ShardCase::term, attempt, false, mirror_node, "ipc://mirror"});
    travel();
  }
  void open(Round round, Interval positions) {
    tell(scheduler_node, BeginRound{ShardCase::term, round, 0, positions, positions.size()});
  }
  void begin_round() {
    primary.load();
    pair();
    open(0, {0, 8});
    travel();
  }
  void push(Round round, Interval positions) {
    for (std::uint32_t slice = 0; slice < primary.slices.size(); ++slice)
      tell(worker_node(1), primary.push(round, positions, slice));
  }
  void push_to_mirror(Round round, Interval positions) {
    for (std::uint32_t slice = 0; slice < primary.slices.size(); ++slice)
      tell_mirror(worker_node(1), primary.push(round, positions, slice));
  }
  template <class Said>
  [[nodiscard]] std::vector<Said> heard() {
    return test::heard<Said>(others);
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

TEST_F(Replicas, AreTheSameAfterEveryRound) {
  primary.load();
  pair();
  for (Round round = 0; round < 4; ++round) {
    open(round, {round * 8, round * 8 + 8});
    push(round, {round * 8, round * 8 + 8});
    travel();
    ASSERT_EQ(version(), round + 1);
    EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
    EXPECT_EQ(mirror.shard().version(), round + 1);
  }
}

TEST_F(Replicas, ThePrimaryShowsNothingThatItsMirrorHasNot) {
  begin_round();
  others.clear();
  push(0, {0, 8});
  tell(worker_node(1), Pull{ShardCase::term, 1});
  EXPECT_EQ(version(), 0u);
  EXPECT_TRUE(heard<Parameters>().empty());
  EXPECT_TRUE(heard<Closed>().empty());
  travel();
  EXPECT_EQ(version(), 1u);
  EXPECT_EQ(heard<Parameters>().size(), primary.slices.size());
  EXPECT_EQ(heard<Closed>().size(), 1u);  // the mirror says nothing
}

TEST_F(Replicas, APromotedMirrorGoesOnWithWhatItHas) {
  primary.load();
  pair();
  open(0, {0, 8});
  push(0, {0, 4});
  travel();
  tell_mirror(scheduler_node, Promote{ShardCase::term});
  others.clear();
  push_to_mirror(0, {0, 4});  // once more
  push_to_mirror(0, {4, 8});
  tell_mirror(worker_node(1), Pull{ShardCase::term, 1});
  EXPECT_EQ(heard<Parameters>().size(), primary.slices.size());
  EXPECT_EQ(heard<Closed>().size(), 1u);
  PlainLoop loop(job);
  loop.round({0, 8});
  EXPECT_EQ(heard<Parameters>()[0].values.floats()[0], loop.parameters[0]);
}

// The roster may reach a worker sooner than the mirror hears that it is promoted: other connections.
TEST_F(Replicas, APromotedMirrorHasHeardWhatWorkersSaidTooSoon) {
  begin_round();
  push_to_mirror(0, {0, 8});
  tell_mirror(worker_node(1), Pull{ShardCase::term, 1});
  others.clear();
  tell_mirror(scheduler_node, Promote{ShardCase::term});
  EXPECT_EQ(heard<Parameters>().size(), primary.slices.size());
  EXPECT_EQ(mirror.shard().version(), 1u);
}

TEST_F(Replicas, AMirrorKeepsNoMoreThanSomeOfWhatWorkersSayTooSoon) {
  begin_round();
  push_to_mirror(0, {0, 8});
  for (int i = 0; i < 100'000; ++i) tell_mirror(worker_node(1), Pull{ShardCase::term, 1});
  tell_mirror(scheduler_node, Promote{ShardCase::term});
  EXPECT_EQ(mirror.shard().version(), 0u);  // what was behind the pushes was too much
  EXPECT_GT(mirror.ignored(), 99'000u);
}

TEST_F(Replicas, APromotedMirrorHeedsItsFormerPrimaryNoMore) {
  begin_round();
  tell_mirror(scheduler_node, Promote{ShardCase::term});
  push(0, {0, 8});
  travel();
  EXPECT_EQ(version(), 0u);  // it waits for a word that never comes
  EXPECT_EQ(mirror.shard().version(), 0u);
}

TEST_F(Replicas, AMirrorIsFilledBetweenTwoRoundsWhileTheTrainingGoesOn) {
  primary.load();
  open(0, {0, 8});
  travel();
  push(0, {0, 4});
  pair();  // in the middle of a round
  EXPECT_FALSE(mirror.is_mirror());
  push(0, {4, 8});
  EXPECT_EQ(version(), 1u);  // it does not wait
  open(1, {8, 16});
  travel();
  EXPECT_TRUE(mirror.is_mirror());
  push(1, {8, 16});
  travel();
  EXPECT_EQ(version(), 2u);
  EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
}

// Another one may still need it: somebody is lost who has not pushed to all shards.
TEST_F(Replicas, AMirrorThatIsFilledLaterHasTheVersionBefore) {
  primary.load();
  open(0, {0, 8});
  push(0, {0, 8});
  pair();
  tell_mirror(scheduler_node, Promote{ShardCase::term});
  others.clear();
  tell_mirror(worker_node(2), Pull{ShardCase::term, 0});
  ASSERT_EQ(heard<Parameters>().size(), primary.slices.size());
  EXPECT_EQ(heard<Parameters>()[0].version, 0u);
  EXPECT_EQ(heard<Parameters>()[0].values.floats()[0], 0.0F);
}

TEST_F(Replicas, AMirrorCountsOnceItHasAllThatThePrimaryHas) {
  primary.load();
  tell_mirror(scheduler_node, MirrorOf{ShardCase::term, 1, shard_node});
  EXPECT_EQ(heard<ShardBeat>().back().mirror.attempt, 1u) << "so that the primary may be told";
  others.clear();
  tell(scheduler_node, Mirror{ShardCase::term, 1, false, mirror_node, "ipc://mirror"});
  ASSERT_EQ(heard<ShardBeat>().size(), 1u);
  EXPECT_FALSE(heard<ShardBeat>()[0].mirror.filled);
  travel(1);
  EXPECT_FALSE(heard<ShardBeat>().back().mirror.filled);
  travel();
  const std::vector<ShardBeat> beats = heard<ShardBeat>();
  const auto filled = [](const ShardBeat& it) { return it.mirror.filled && it.mirror.attempt == 1; };
  EXPECT_EQ(std::ranges::count_if(beats, filled), 1);
}

TEST_F(Replicas, APrimaryGoesOnAloneWhenItIsTold) {
  begin_round();
  push(0, {0, 8});
  between.clear();  // the mirror is gone
  tell(link_node, Disconnected{mirror_node});
  EXPECT_EQ(version(), 0u);
  EXPECT_TRUE(heard<ShardBeat>().back().mirror.late);
  tell(scheduler_node, Mirror{ShardCase::term, 2});
  EXPECT_EQ(version(), 1u);
  EXPECT_FALSE(heard<ShardBeat>().back().mirror.late);
  EXPECT_EQ(heard<ShardBeat>().back().mirror.attempt, 2u);
}

TEST_F(Replicas, AMirrorWhoseLineBrokeIsFilledAnew) {
  primary.load();
  pair();
  open(0, {0, 8});
  push(0, {0, 4});
  travel();
  push(0, {4, 6});
  between.pop_front();  // the first of them is lost on its way
  tell(link_node, Disconnected{mirror_node});
  travel();
  pair(2);
  push(0, {6, 8});
  travel();
  EXPECT_EQ(version(), 1u);
  open(1, {8, 16});
  push(1, {8, 16});
  travel();
  EXPECT_EQ(version(), 2u);
  EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
}

TEST_F(Replicas, WhoeverWasTakenForLostBeginsAnew) {
  begin_round();
  others.clear();
  const Refuse refuse{Refusal::replaced, "another one is in its place"};
  tell_mirror(scheduler_node, refuse);
  tell_mirror(scheduler_node, refuse);  // for another heartbeat
  EXPECT_FALSE(mirror.finished());
  EXPECT_FALSE(mirror.is_mirror());
  wake_mirror();
  EXPECT_EQ(heard<Hello>().size(), 1u);
  tell_mirror(scheduler_node, Welcome{ShardCase::term, 0, job});
  push(0, {0, 8});
  pair(2);
  travel();
  EXPECT_TRUE(mirror.is_mirror());
  EXPECT_EQ(version(), 1u);
  EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
}

TEST_F(Replicas, AMirrorThatDoesNotAnswerIsToldOf) {
  primary.load();
  pair();
  open(0, {0, 8});
  between.clear();
  wake_primary(0.5);
  EXPECT_FALSE(heard<ShardBeat>().back().mirror.late);
  wake_primary(2);
  EXPECT_TRUE(heard<ShardBeat>().back().mirror.late);
}

TEST_F(Replicas, AnOlderWordOfTheSchedulerChangesNothing) {
  primary.load();
  pair(3);
  tell(scheduler_node, Mirror{ShardCase::term, 2});
  open(0, {0, 8});
  push(0, {0, 8});
  EXPECT_EQ(version(), 0u);
  travel();
  EXPECT_EQ(version(), 1u);
}

// Any server with a key could feed it, and the true primary would be ignored.
TEST_F(Replicas, AMirrorBelievesOnlyThePrimaryThatTheSchedulerNamed) {
  primary.load();
  pair();
  const Frames frames = encode(Message(ToShard(IdleTick{})));
  Replicate false_primary{ShardCase::term, UINT64_MAX, 0, scheduler_node};
  false_primary.words.assign(reinterpret_cast<const char*>(frames.header.data()), frames.header.size());
  for (const std::uint64_t attempt : {std::uint64_t{1}, std::uint64_t{2}, UINT64_MAX}) {
    false_primary.attempt = attempt;
    tell_mirror({Role::shard, 99}, false_primary);
  }
  EXPECT_TRUE(between.empty()) << "nothing is acknowledged";
  open(0, {0, 8});
  push(0, {0, 8});
  travel();
  EXPECT_EQ(version(), 1u);
  EXPECT_EQ(parameters(primary.shard), parameters(mirror.shard()));
}

TEST_F(Replicas, APrimaryIsNoMirrorWhateverItIsSent) {
  primary.load();
  const Frames frames = encode(Message(ToShard(IdleTick{})));
  Replicate forward{ShardCase::term, 1, 0, worker_node(1)};
  forward.words.assign(reinterpret_cast<const char*>(frames.header.data()), frames.header.size());
  tell(mirror_node, forward);
  EXPECT_FALSE(primary.replica.is_mirror());
  EXPECT_TRUE(primary.shard.loaded());
  EXPECT_TRUE(between.empty());
}

TEST_F(Replicas, AMirrorHearsItsPrimaryAlone) {
  begin_round();
  push_to_mirror(0, {0, 8});
  EXPECT_EQ(mirror.shard().version(), 0u);
}

TEST_F(Replicas, WordsThatAreNoneAreLeftOut) {
  primary.load();
  pair();
  open(0, {0, 8});
  std::get<Replicate>(std::get<ToShard>(between.front().message)).words = "SY";
  travel();
  others.clear();
  wake_primary(1);
  EXPECT_EQ(heard<ShardBeat>().at(0).opened, 0u);  // the mirror has not confirmed it
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

TEST_F(GatheringReplicas, StepTogetherWhenNothingComesAnyMore) {
  primary.load();
  pair();
  open(0, {0, 4});  // a short round: the need is never reached
  push(0, {0, 4});
  travel();
  wake_primary(1);
  travel();
  wake_primary(1);
  travel();
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
      tell(worker_node(hub), std::move(push));
    }
  }
};

TEST_F(ReplicasWithHubs, AreTheSameFromTheBeginning) {
  primary.load();
  pair();
  for (Round round = 0; round < 3; ++round) {
    const Position begin = round * 8;
    open(round, {begin, begin + 8});
    push_to(1, round, {begin, begin + 4});
    push_to(2, round, {begin + 4, begin + 8});
    travel();
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

}  // namespace
}  // namespace steelyard::test::replica_test
