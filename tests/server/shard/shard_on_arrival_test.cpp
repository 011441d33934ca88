// A shard that applies each push on arrival: ledgers of several rounds, waiting pulls, staleness.
#include <algorithm>
#include <bitset>
#include <cmath>
#include <deque>
#include <map>

#include "tests/server/shard/shard_case.h"

namespace steelyard::shard_on_arrival_test {
namespace {

using test::shard_job;
using test::ShardCase;
using test::worker_node;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Job on_arrival_job(const std::string& sync, std::uint64_t parameters = 10, std::uint64_t slice_size = 4) {
  Job job = shard_job(parameters, slice_size);
  job.sync = parse_sync(sync);
  return job;
}

const ShardCase& opened(ShardCase& it, Round rounds) {
  it.load();
  for (Round round = 0; round < rounds; ++round) it.open(round, {round * 32, round * 32 + 32});
  return it;
}

Push ones(const ShardCase& it, Round round, Interval positions, std::uint32_t slice,
          std::uint64_t steps = 0) {
  Push push = it.push(round, positions, slice);
  push.values = ShardCase::constant(it.slices[slice].size(), static_cast<float>(positions.size()));
  push.steps = steps;
  return push;
}

TEST(ShardOnArrival, APushMovesByItsPartOfTheRound) {
  ShardCase it(on_arrival_job("ssp:2", 4));
  opened(it, 2);
  it.deliver(worker_node(1), ones(it, 0, {0, 8}, 0));
  EXPECT_EQ(it.parameters()[0], -0.5F * 8 / 32);
  it.deliver(worker_node(2), ones(it, 1, {32, 48}, 0));
  EXPECT_EQ(it.parameters()[0], -0.5F * 24 / 32) << "a push of another round is applied at once";
  EXPECT_EQ(it.shard.version(), 0U);
  it.deliver(worker_node(2), ones(it, 1, {40, 64}, 0));
  EXPECT_EQ(it.shard.counts().repeated, 1U) << "partly covered";
  EXPECT_EQ(it.parameters()[0], -0.5F * 24 / 32);
}

TEST(ShardOnArrival, AnAspPushIsDividedByItsWeight) {
  ShardCase it(on_arrival_job("asp", 4));
  opened(it, 1);
  it.deliver(worker_node(1), ones(it, 0, {0, 8}, 0));
  EXPECT_EQ(it.parameters()[0], -0.5F);
  it.deliver(worker_node(1), ones(it, 0, {8, 32}, 0));
  EXPECT_EQ(it.parameters()[0], -1.0F);
  EXPECT_EQ(it.shard.version(), 1U);
}

TEST(ShardOnArrival, DecayIsProportionalToTheUpdate) {
  for (const char* sync : {"ssp:1", "asp"}) {
    Job job = on_arrival_job(sync, 4);
    job.optimizer.weight_decay = 0.5;
    ShardCase it(job);
    for (std::uint32_t slice = 0; slice < it.slices.size(); ++slice)
      it.deliver(test::checkpointer_node, StateChunk{it.term, 0, slice, 0, 0, ShardCase::constant(4, 1)});
    it.open(0, {0, 32});
    Push nothing = it.push(0, {0, 8}, 0);
    nothing.values = ShardCase::constant(4, 0);
    it.deliver(worker_node(1), nothing);
    const double share = std::string(sync) == "asp" ? 1 : 8.0 / 32;
    EXPECT_FLOAT_EQ(it.parameters()[0], static_cast<float>(1 - 0.5 * 0.5 * share)) << sync;
  }
}

TEST(ShardOnArrival, RoundsCoveredOutOfOrderCloseInOrder) {
  ShardCase it(on_arrival_job("ssp:2", 4));
  opened(it, 3);
  it.deliver(worker_node(1), ones(it, 1, {32, 64}, 0));
  it.deliver(worker_node(1), ones(it, 2, {64, 96}, 0));
  EXPECT_THAT(it.sent<Closed>(), IsEmpty());
  EXPECT_EQ(it.shard.version(), 0U);
  it.deliver(worker_node(1), ones(it, 0, {0, 32}, 0));
  EXPECT_EQ(it.shard.version(), 3U);
  ASSERT_FALSE(it.sent<Closed>().empty());
  EXPECT_EQ(it.sent<Closed>().back().version, 3U);
}

TEST(ShardOnArrival, APullWaitsForItsVersionAndTheWorkersPushes) {
  ShardCase it(on_arrival_job("ssp:1", 4));
  opened(it, 2);
  it.deliver(worker_node(1), Pull{it.term, 1, 7, {{1, {32, 40}}}});
  EXPECT_THAT(it.sent<Parameters>(), IsEmpty());
  it.deliver(worker_node(2), ones(it, 0, {0, 32}, 0));
  EXPECT_THAT(it.sent<Parameters>(), IsEmpty()) << "the worker's own push has not arrived";
  it.deliver(worker_node(1), ones(it, 1, {32, 36}, 0));
  EXPECT_THAT(it.sent<Parameters>(), IsEmpty());
  it.deliver(worker_node(3),
             ones(it, 1, {36, 40}, 0));  // its piece was cut, and another worker computed the rest
  ASSERT_EQ(it.sent<Parameters>().size(), 1U);
  const Parameters answer = it.sent<Parameters>()[0];
  EXPECT_EQ(std::tie(answer.version, answer.ticket, answer.steps), std::make_tuple(1U, 7U, 3U));
  EXPECT_EQ(it.output[0].to, worker_node(1));
  it.deliver(worker_node(1), Pull{it.term, 0, 8, {{0, {0, 4}}}});
  ASSERT_EQ(it.sent<Parameters>().size(), 1U) << "a newer version suffices, and its round is closed";
  EXPECT_EQ(it.sent<Parameters>()[0].ticket, 8U);
}

// A worker accepts no answer to an older pull, so the newer pull must replace the older one at the shard.
TEST(ShardOnArrival, ANewerPullReplacesAWaitingOne) {
  ShardCase it(on_arrival_job("ssp:2", 4));
  opened(it, 2);
  it.deliver(worker_node(1), Pull{it.term, 1, 7, {}});
  it.deliver(worker_node(1), Pull{it.term, 0, 8, {{1, {32, 36}}}});
  it.deliver(worker_node(2), ones(it, 1, {32, 36}, 0));
  ASSERT_EQ(it.sent<Parameters>().size(), 1U) << "the newer pull is satisfied";
  EXPECT_EQ(it.sent<Parameters>()[0].ticket, 8U);
  it.deliver(worker_node(2), ones(it, 0, {0, 32}, 0));
  EXPECT_THAT(it.sent<Parameters>(), IsEmpty()) << "answered only once, and the older pull never";
}

TEST(ShardOnArrival, CountsTheStalenessOfEachPush) {
  ShardCase it(on_arrival_job("asp", 4));
  opened(it, 1);
  it.deliver(worker_node(1), ones(it, 0, {0, 8}, 0, 0));
  it.deliver(worker_node(2), ones(it, 0, {8, 16}, 0, 0));    // one step after its parameters
  it.deliver(worker_node(3), ones(it, 0, {16, 24}, 0, 2));   // in time
  it.deliver(worker_node(3), ones(it, 0, {16, 24}, 0, 0));   // a duplicate: not counted
  it.deliver(worker_node(2), ones(it, 0, {24, 32}, 0, 99));  // a step number that does not exist
  ASSERT_EQ(it.sent<Closed>().size(), 1U);
  Staleness counts = it.sent<Closed>()[0].staleness;
  ASSERT_EQ(counts.size(), staleness_places);
  counts.resize(3);
  EXPECT_THAT(counts, ElementsAre(3, 1, 0));
}

TEST(ShardOnArrival, ASavedVersionIsKeptUnchanged) {
  ShardCase it(on_arrival_job("asp", 4));
  it.load();
  it.open(0, {0, 32}, false, true);
  it.open(1, {32, 64});
  it.deliver(worker_node(1), ones(it, 0, {0, 32}, 0));
  it.deliver(worker_node(1), ones(it, 1, {32, 40}, 0));
  it.deliver(test::checkpointer_node, it.fetch(1));
  ASSERT_EQ(it.sent<State>().size(), 1U);
  EXPECT_EQ(it.sent<State>()[0].values.floats()[0], -0.5F);
}

TEST(ShardOnArrival, EarlyPushesAreHeldWithinTheSlack) {
  ShardCase it(on_arrival_job("ssp:2", 4));
  opened(it, 1);
  it.deliver(worker_node(1), ones(it, 2, {64, 72}, 0));
  it.deliver(worker_node(1), ones(it, 4, {128, 136}, 0));
  EXPECT_EQ(it.shard.counts().held, 1U);
  EXPECT_EQ(it.shard.counts().malformed, 1U) << "further ahead than the slack allows";
  it.open(1, {32, 64});
  EXPECT_EQ(it.parameters()[0], 0) << "round 2 is not open yet";
  it.open(2, {64, 96});
  EXPECT_EQ(it.parameters()[0], -0.5F * 8 / 32);
}

// Random pushes of four rounds: reordered, repeated, overlapping and early. A model with one bit per position
// predicts the parameters, and in the end each position has been added once.
TEST(ShardOnArrival, EveryPositionCountsOnceForAnyArrivals) {
  constexpr std::uint64_t batch = 32, rounds = 4;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ShardCase it(on_arrival_job("ssp:3", 3 + seed % 9, 1 + seed % 4));
    opened(it, rounds);
    std::vector<std::bitset<batch * rounds>> in(it.slices.size());
    std::vector<Push> history;
    const auto send = [&](const Push& push) {
      bool any = false;
      for (Position p = push.piece.positions.begin; p < push.piece.positions.end; ++p)
        any |= in[push.slice].test(p);
      if (!any) {
        for (Position p = push.piece.positions.begin; p < push.piece.positions.end; ++p)
          in[push.slice].set(p);
      }
      it.deliver(worker_node(1 + random.below(3)), push);
      ASSERT_NEAR(it.shard.slices()[push.slice].current().floats()[0],
                  -0.5 * static_cast<double>(in[push.slice].count()) / batch, 1e-6);
    };
    for (int i = 0; i < 150; ++i) {
      const Round round = random.below(rounds);
      const auto slice = static_cast<std::uint32_t>(random.below(it.slices.size()));
      const Position begin = round * batch + random.below(batch);
      const Position end = std::min((round + 1) * batch, begin + 1 + random.below(8));
      history.push_back(ones(it, round, {begin, end}, slice));
      send(random.below(4) == 0 ? Push(history[random.below(history.size())]) : history.back());
      if (HasFatalFailure()) return;
    }
    // Pushes the gaps of the oldest open round until all rounds have closed, as a scheduler would arrange.
    for (int i = 0; i < 200 && it.shard.version() < rounds; ++i) {
      it.wake(0.5);
      const Round oldest = it.shard.version();
      const ShardBeat beat = it.sent<ShardBeat>().at(0);
      for (const Interval& gap : beat.gaps) {
        for (Position p = gap.begin; p < gap.end; ++p) {
          for (std::uint32_t slice = 0; slice < it.slices.size(); ++slice)
            send(ones(it, oldest, {p, p + 1}, slice));
        }
      }
      if (HasFatalFailure()) return;
    }
    ASSERT_EQ(it.shard.version(), rounds) << "a round does not close";
    for (const auto& bits : in) ASSERT_TRUE(bits.all());
  }
}

// Workers pull, push and disconnect in random order: with lambda 0 the result equals asp.
TEST(ShardOnArrival, CompensationWithLambdaZeroEqualsAsp) {
  for (const char* sync : {"dc-asgd:0", "dc-asgd:adaptive:0"}) {
    std::deque<ShardCase> shards;
    for (const std::string mode : {"asp", sync}) {
      Job job = shard_job(10, 4, nn::Optimizer::Kind::momentum);
      job.sync = parse_sync(mode);
      shards.emplace_back(job);
      opened(shards.back(), 2);
    }
    Random random(7);
    for (Position at = 0; at < 64; at += 4) {
      const NodeId worker = worker_node(1 + random.below(3));
      const bool pulls = random.below(2) == 0, lost = random.below(8) == 0;
      const std::uint64_t late = random.below(3);
      for (ShardCase& it : shards) {
        if (lost) it.deliver(worker, Disconnected{worker});
        if (pulls) it.deliver(worker, Pull{it.term, 0, at, {}});
        for (std::uint32_t slice = 0; slice < it.slices.size(); ++slice) {
          Push push = it.push(at / 32, {at, at + 4}, slice);
          push.steps = it.shard.slices()[slice].steps() - std::min(late, it.shard.slices()[slice].steps());
          it.deliver(worker, push);
        }
      }
      ASSERT_EQ(shards[0].parameters(), shards[1].parameters()) << sync << " at " << at;
    }
    EXPECT_GT(shards[1].shard.counts().uncompensated, 0U);
    EXPECT_LT(shards[1].shard.counts().uncompensated, shards[1].shard.counts().added);
    EXPECT_EQ(shards[0].shard.counts().uncompensated, 0U);
  }
}

TEST(ShardOnArrival, ARoundClosesOnceItsGatheredPushesAreApplied) {
  Job job = on_arrival_job("eager", 4);
  job.global_batch = 32;
  ShardCase it(job);
  opened(it, 2);
  it.deliver(worker_node(1), ones(it, 0, {0, 12}, 0));
  it.deliver(worker_node(1), Pull{it.term, 0, 7, {{0, {0, 12}}}});
  ASSERT_EQ(it.sent<Parameters>().size(), 1U) << "its push is gathered, which satisfies the pull";
  EXPECT_EQ(it.parameters()[0], 0);
  it.deliver(worker_node(2), ones(it, 0, {12, 24}, 0));
  EXPECT_EQ(it.parameters()[0], -0.5F) << "one step by the average";
  it.deliver(worker_node(3), ones(it, 0, {24, 32}, 0));
  EXPECT_EQ(it.shard.version(), 0U) << "covered, but not yet applied";
  it.deliver(worker_node(1), ones(it, 1, {32, 48}, 0));
  EXPECT_EQ(it.shard.version(), 1U);
  EXPECT_EQ(it.parameters()[0], -1.0F);
  it.deliver(worker_node(2), ones(it, 1, {48, 60}, 0));
  EXPECT_EQ(it.parameters()[0], -1.0F);
  it.deliver(worker_node(3), ones(it, 1, {60, 64}, 0));
  EXPECT_EQ(it.shard.version(), 2U);
  EXPECT_EQ(it.parameters()[0], -1.5F);
  it.open(2, {64, 68});
  it.deliver(worker_node(3), ones(it, 2, {64, 68}, 0));
  EXPECT_EQ(it.shard.version(), 3U) << "below the quorum, but no other round is open";
  EXPECT_EQ(it.parameters()[0], -2.0F);
}

// Three workers have parameters, and two rounds of 32 positions are open.
struct ThreeWorkers : ShardCase {
  explicit ThreeWorkers(const std::string& sync) : ShardCase(on_arrival_job(sync, 4)) {
    opened(*this, 2);
    for (const std::uint64_t number : {1U, 2U, 3U}) deliver(worker_node(number), Pull{term, 0, number});
  }
};

TEST(ShardOnArrival, AWorkerWaitsForTheStepThatAppliesItsPush) {
  ThreeWorkers it("ksoft-wait:2");
  it.deliver(worker_node(1), ones(it, 0, {0, 12}, 0));
  it.deliver(worker_node(1), Pull{it.term, 0, 7, {{0, {0, 12}}}});
  EXPECT_THAT(it.sent<Parameters>(), IsEmpty());
  it.wake(10);
  EXPECT_EQ(it.parameters()[0], 0) << "a heartbeat without pushes changes nothing";
  it.deliver(worker_node(2), ones(it, 0, {12, 24}, 0));
  ASSERT_EQ(it.sent<Parameters>().size(), 1U);
  EXPECT_EQ(it.output.at(0).to, worker_node(1));
  EXPECT_EQ(it.parameters()[0], -0.5F);
}

// Workers that wait at different slices could otherwise wait for each other.
TEST(ShardOnArrival, ARepeatedPushEndsTheWait) {
  ThreeWorkers it("ksoft-wait:3");
  for (const std::uint64_t number : {1U, 2U}) {
    const Interval own{12 * (number - 1), 12 * number};
    it.deliver(worker_node(number), ones(it, 0, own, 0));
    it.deliver(worker_node(number), Pull{it.term, 0, 7, {{0, own}}});
    EXPECT_THAT(it.sent<Parameters>(), IsEmpty());
  }
  it.deliver(worker_node(2), ones(it, 0, {12, 24}, 0));
  EXPECT_EQ(it.sent<Parameters>().size(), 2U);
  EXPECT_EQ(it.shard.counts().repeated, 1U);
  EXPECT_EQ(it.parameters()[0], -0.5F);
  it.deliver(worker_node(2), ones(it, 0, {12, 24}, 0));
  EXPECT_EQ(it.parameters()[0], -0.5F) << "it counts once";
}

TEST(ShardOnArrival, TheOthersDoNotWaitForALostWorker) {
  ThreeWorkers it("ksoft-wait:3");
  for (const std::uint64_t number : {1U, 2U})
    it.deliver(worker_node(number), ones(it, 0, {12 * (number - 1), 12 * number}, 0));
  it.deliver(worker_node(2), Pull{it.term, 0, 7, {{0, {12, 24}}}});
  it.deliver(worker_node(3), Disconnected{worker_node(3)});
  EXPECT_EQ(it.parameters()[0], -0.5F);
  EXPECT_EQ(it.sent<Parameters>().size(), 1U);
}

TEST(ShardOnArrival, ARoundClosesWhilePushesOfLaterRoundsWait) {
  ThreeWorkers it("ksoft-wait:2:first");
  it.deliver(worker_node(1), ones(it, 0, {0, 16}, 0));
  it.deliver(worker_node(2), ones(it, 0, {16, 32}, 0));
  EXPECT_EQ(it.parameters()[0], -0.5F) << "the first is applied";
  EXPECT_EQ(it.shard.version(), 0U);
  it.deliver(worker_node(3), ones(it, 1, {32, 48}, 0));
  EXPECT_EQ(it.parameters()[0], -1.0F);
  EXPECT_EQ(it.shard.version(), 1U);
  it.deliver(worker_node(1), ones(it, 1, {48, 64}, 0));
  EXPECT_EQ(it.shard.version(), 2U) << "no open round has anything to come";
}

TEST(ShardLocal, TheStepIsPlainSgdWithoutDecayAndMomentum) {
  Job job = shard_job(4, 4, nn::Optimizer::Kind::momentum);
  job.optimizer.weight_decay = 0.5;
  job.sync = parse_sync("local:2");
  ShardCase it(job);
  it.load();
  for (Round round = 0; round < 2; ++round) {
    it.deliver(scheduler_node,
               BeginRound{it.term, round, 0, {round * 64, round * 64 + 64}, 64, false, false, {2, 1}});
    it.deliver(worker_node(1), ones(it, round, {round * 64, round * 64 + 64}, 0));
    EXPECT_EQ(it.parameters()[0], -0.5F * static_cast<float>(round + 1));
  }
}

TEST(ShardLocal, ThePreviousVersionCanBeSavedAfterALongRound) {
  Job job = shard_job(4, 4, nn::Optimizer::Kind::momentum);
  job.sync = parse_sync("oneshot:epoch");
  ShardCase it(job);
  it.load();
  it.deliver(scheduler_node, BeginRound{it.term, 0, 0, {0, 64}, 64, false, false, {2, 1}});
  it.deliver(worker_node(1), ones(it, 0, {0, 64}, 0));
  ASSERT_EQ(it.shard.version(), 1U);
  it.deliver(test::checkpointer_node, it.fetch(0));
  ASSERT_EQ(it.sent<State>().size(), 1U) << "parameters only: local steps have no server state";
  EXPECT_EQ(it.sent<State>()[0].values.floats()[0], 0);
  EXPECT_EQ(it.sent<State>()[0].steps, 0U);
  EXPECT_THAT(it.sent<VersionExpired>(), IsEmpty());
}

TEST(ShardLocal, UnreasonableLocalStepsAreIgnored) {
  ShardCase it(on_arrival_job("local:2", 4));
  it.load();
  for (const LocalSteps local : {LocalSteps{UINT64_MAX, 2}, LocalSteps{1, 0}, LocalSteps{1, UINT64_MAX}}) {
    it.deliver(scheduler_node, BeginRound{it.term, 0, 0, {0, 64}, 64, false, false, local});
    it.deliver(worker_node(1), ones(it, 0, {0, 64}, 0));
    EXPECT_EQ(it.shard.version(), 0U);
  }
}

TEST(OrderedSums, AreAddedByPositionInAnyOrderOfArrival) {
  // The float sum of these depends on the order.
  const std::map<Position, float> parts{{0, 1e8F}, {8, 1.0F}, {16, -1e8F}, {24, 1.0F}};
  const float by_position = ((1e8F + 1.0F) + -1e8F) + 1.0F;
  std::vector<Position> order{0, 8, 16, 24};
  bool some_differ = false;
  do {
    for (const bool ordered : {true, false}) {
      Job job = shard_job(1, 1);
      job.sum_order = ordered ? SumOrder::positions : SumOrder::arrival;
      ShardCase it(job);
      it.load();
      it.open(0, {0, 32});
      for (const Position begin : order) {
        Push push = it.push(0, {begin, begin + 8}, 0);
        push.values = ShardCase::constant(1, parts.at(begin));
        it.deliver(worker_node(1), push);
      }
      const float expected = -0.5F * by_position / 32;
      if (ordered) {
        EXPECT_EQ(it.parameters()[0], expected);
      }
      some_differ |= it.parameters()[0] != expected;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_TRUE(some_differ) << "otherwise the order has no effect in this test";
}

}  // namespace
}  // namespace steelyard::shard_on_arrival_test
