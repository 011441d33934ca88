// The workers' shares: in grains for policies, in positions elsewhere.
#include "scheduler/rounds/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancing/pacing.h"
#include "balancing/policies.h"
#include "core/random.h"
#include "protocol/local_steps.h"
#include "tests/support/toy_job.h"

namespace steelyard::planner_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

void join(Members& members, std::uint64_t most) {
  WorkerMember worker;
  worker.slot = static_cast<std::uint32_t>(members.workers.size());
  worker.node = {Role::worker, worker.slot + 1};
  worker.name = "worker-" + std::to_string(worker.slot);
  worker.most = most;
  worker.ready = true;
  members.add(worker);
}

RoundState round_of(Interval positions, LocalSteps local = {}) {
  BeginRound open{1, 0, 0, positions, positions.size(), false, false};
  open.local = local;
  return {open, Purpose::train, Time{}};
}

// A worker's report of its share. Each slot has its own speed.
Report report_of(const Planner::Share& share, Round round, Random& random) {
  Report report;
  report.piece.round = round;
  report.piece.positions = share.positions;
  report.seconds = (0.001 + 1e-4 * static_cast<double>(share.positions.size() * (1 + share.slot))) *
                   (1 + 0.1 * random.uniform());
  return report;
}

// For any policy, memory, round and part of a round: the shares tile the part, no share is empty or exceeds
// its worker's memory, and all borders lie between grains.
TEST(Planner, SharesTileTheRoundBetweenGrains) {
  const std::vector<std::string> policies = balancing::policy_names();
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    Job job = test::toy_job(1000, 1000, 1, 1, 1);
    job.grain = static_cast<std::uint32_t>(1 + random.below(40));
    Members members;
    for (std::uint64_t i = 1 + random.below(8); i > 0; --i)
      join(members, random.below(2) == 0 ? 0 : job.grain + random.below(200));
    const std::string& policy = policies[random.below(policies.size())];
    Planner planner(job, {}, balancing::make_policy(policy), members);
    for (Round number = 0; number < 20; ++number) {
      const Position begin = random.below(1000);
      const std::uint64_t steps = random.below(3) == 0 ? 1 + random.below(5) : 0;
      const RoundState round = round_of({begin, begin + 1 + random.below(2000)}, {steps, 1});
      const Interval whole = round.open().positions, point{begin, begin + 1 + random.below(whole.size())};
      const Interval part = widened_to_grains(whole, point, job.grain);
      Position at = part.begin;
      for (const Planner::Share& share : planner.divide(round, part)) {
        EXPECT_EQ(share.positions.begin, at);
        EXPECT_FALSE(share.positions.empty());
        EXPECT_TRUE(on_grains(whole, share.positions, job.grain));
        EXPECT_LE(share.positions.size(), planner.most(members.workers.at(share.slot), round));
        at = share.positions.end;
        const auto sample =
            planner.sample(members.workers.at(share.slot), report_of(share, number, random), {}, -1);
        if (sample) planner.observe(*sample);
      }
      EXPECT_EQ(at, part.end);
      for (const auto& [slot, quota] : planner.quotas(round)) EXPECT_EQ(quota % job.grain, 0U);
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", grain " << job.grain << ", " << policy;
    }
  }
}

// Balanced DiLoCo: 256 steps among devices of 0.58, 0.75, 1.51 and 3.33 s a step, by the largest remainder;
// then, without the first, the 110 that it had.
TEST(Planner, BalancedSharesAreWholeBatches) {
  const Job job = test::toy_job(100'000, 512, 1, 4, 1);
  Members members;
  for (int i = 0; i < 4; ++i) join(members, 0);
  Planner planner(job, {},
                  balancing::make_policy("static", {{"speeds", "1.724138 1.333333 0.662252 0.300300"}}),
                  members);
  RoundState round = round_of({0, 64 * 512}, {64, 1});
  EXPECT_EQ(planner.batch_for(round), 128U);
  round.batch = 128;
  const auto steps = [&](Interval positions) {
    std::vector<std::uint64_t> taken;
    Position at = positions.begin;
    for (const Planner::Share& share : planner.divide(round, positions)) {
      EXPECT_EQ(share.positions.begin, at);
      EXPECT_EQ(share.positions.size() % 128, 0U);
      taken.push_back(share.positions.size() / 128);
      at = share.positions.end;
    }
    EXPECT_EQ(at, positions.end);
    return taken;
  };
  EXPECT_THAT(steps({0, 64 * 512}), ElementsAre(110, 85, 42, 19));
  members.workers.at(0).present = false;
  EXPECT_THAT(steps({0, 110 * 128}), ElementsAre(64, 32, 14));
  RoundState next = round_of({64 * 512, 128 * 512}, {64, 1});
  EXPECT_EQ(planner.batch_for(next), 171U) << "larger batches for three";
  members.workers.at(1).most = 100;
  EXPECT_EQ(planner.batch_for(next), 100U) << "the smallest memory";
}

// Elastic BSP: shares of 20 take 1, 2 and 3 s, so all workers end after 6 s with 6, 3 and 2 pieces.
TEST(Planner, UnderElasticBspFastWorkersHaveMorePieces) {
  Job job = test::toy_job(1000, 60, 1, 3, 1);
  job.sync = parse_sync("elastic-bsp:6");
  Members members;
  for (int i = 0; i < 3; ++i) join(members, 0);
  Planner planner(job, {}, balancing::make_policy("equal"), members);
  EXPECT_EQ(planner.length(0, 0), 60U) << "no time is known yet";
  for (const Planner::Share& share : planner.divide(round_of({0, 60}), {0, 60})) {
    EXPECT_EQ(share.positions.size(), 20U);
    planner.observe({.slot = share.slot, .samples = 20, .seconds = 1.0 + share.slot});
  }
  EXPECT_EQ(planner.length(1, 0), 11 * 20U);
  const auto pieces = [&](Interval positions) {
    std::map<std::uint32_t, std::uint64_t> counts;
    Position at = positions.begin;
    for (const Planner::Share& share : planner.divide(round_of(positions), positions)) {
      EXPECT_EQ(share.positions.begin, at);
      at = share.positions.end;
      ++counts[share.slot];
    }
    EXPECT_EQ(at, positions.end);
    return counts;
  };
  EXPECT_THAT(pieces({60, 280}), ElementsAre(Pair(0, 6), Pair(1, 3), Pair(2, 2)));
  EXPECT_THAT(pieces({60, 120}), ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 1))) << "issued again";
  EXPECT_EQ(planner.length(2, 0), 11 * 20U);
  EXPECT_THAT(pieces({970, 1000}), ElementsAre(Pair(0, 2))) << "the first to end, at the end of the epoch";
}

// MLL-SGD (Castiglia, Das, Patterson, ICLR 2021, section 3): steps are drawn, and a hub's positions follow
// one another. With equal speeds the draw changes nothing.
TEST(Planner, WithHubsStepsAreDrawnHubByHub) {
  Job job = test::toy_job(1000, 1000, 1, 5, 1);
  job.sync = parse_sync("mll:10:1:2");
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    job.grain = static_cast<std::uint32_t>(1 + random.below(5));
    Members members;
    for (int i = 0; i < 5; ++i) join(members, 0);
    Planner planner(job, {}, balancing::make_policy(seed % 2 == 0 ? "lb-bsp" : "equal"), members);
    for (Round number = 0; number < 8; ++number) {
      RoundState round = round_of({0, 1000}, {10, 1});
      round.batch = planner.batch_for(round);
      Position at = 0;
      HubNumber last = 1;
      for (const Planner::Share& share : planner.divide(round, {0, 1000})) {
        EXPECT_EQ(share.positions.begin, at);
        EXPECT_TRUE(on_grains({0, 1000}, share.positions, round.batch));
        EXPECT_EQ(share.hub, job.sync.hubs.of(share.slot));
        EXPECT_GE(share.hub, last);
        if (seed % 2 == 1 && job.grain == 1) {
          EXPECT_EQ(share.positions.size(), 200U);
        }
        at = share.positions.end, last = share.hub;
        const auto sample =
            planner.sample(members.workers.at(share.slot), report_of(share, number, random), {}, 0);
        if (sample) planner.observe(*sample);
      }
      EXPECT_EQ(at, 1000U);
    }
  }
}

TEST(Planner, AHubsPositionsGoToItsWorkersIfItHasAny) {
  Job job = test::toy_job(1000, 1000, 1, 5, 1);
  job.sync = parse_sync("mll:10:1:2");
  Members members;
  for (int i = 0; i < 5; ++i) join(members, 0);
  Planner planner(job, {}, balancing::make_policy("equal"), members);
  RoundState round = round_of({0, 1000}, {10, 1});
  round.batch = planner.batch_for(round);
  const auto slots = [&](HubNumber hub) {
    std::vector<std::uint32_t> its;
    for (const Planner::Share& share : planner.divide(round, {100, 300}, hub)) {
      EXPECT_EQ(share.hub, hub) << "the positions stay in their hub";
      its.push_back(share.slot);
    }
    return its;
  };
  EXPECT_THAT(slots(1), ElementsAre(0, 2, 4));
  EXPECT_THAT(slots(2), ElementsAre(1, 3));
  members.workers.at(1).present = members.workers.at(3).present = false;
  EXPECT_THAT(slots(2), ElementsAre(0, 2, 4));
}

TEST(Planner, MemoryHoldsWholeGrainsOfEachLocalStep) {
  Job job = test::toy_job(1000, 100, 1, 1, 1);
  job.grain = 8;
  Members members;
  join(members, 0);
  join(members, 23);
  const Planner planner(job, {}, balancing::make_policy("equal"), members);
  const RoundState plain = round_of({0, 100}), local = round_of({0, 100}, {3, 1});
  EXPECT_EQ(planner.most(members.workers.at(0), plain), UINT64_MAX);
  EXPECT_EQ(planner.most(members.workers.at(1), plain), 16U);
  EXPECT_EQ(planner.most(members.workers.at(1), local), 48U);
}

TEST(Planner, WithoutWorkersThereAreNoShares) {
  const Job job = test::toy_job(1000, 100, 1, 1, 1);
  Members members;
  Planner planner(job, {}, balancing::make_policy("equal"), members);
  EXPECT_THAT(planner.divide(round_of({0, 100}), {0, 100}), IsEmpty());
  EXPECT_THAT(planner.quotas(round_of({0, 100})), IsEmpty());
  join(members, 0);
  join(members, 0);
  EXPECT_THAT(planner.quotas(round_of({0, 100})), UnorderedElementsAre(Pair(0, 50), Pair(1, 50)));
}

TEST(Planner, APolicySeesWholeGrains) {
  Job job = test::toy_job(1000, 320, 1, 1, 1);
  job.grain = 32;
  Members members;
  join(members, 0);
  const Planner planner(job, {}, balancing::make_policy("equal"), members);
  const auto sample = [&](std::uint64_t positions) {
    Report report;
    report.piece.positions = {0, positions};
    report.seconds = 3;
    return planner.sample(members.workers.at(0), report, {}, 0.5);
  };
  EXPECT_EQ(sample(64)->samples, 2U);
  EXPECT_EQ(sample(64)->seconds, 3);
  EXPECT_EQ(sample(64)->exchange, 0.5);
  EXPECT_EQ(sample(310)->samples, 10U) << "nearly ten grains";
  EXPECT_DOUBLE_EQ(sample(310)->seconds, 3 * 320.0 / 310);
  EXPECT_FALSE(sample(40)) << "most of the second grain is missing";
}

// Orchestra: t = (2, 3) s a mini-batch of 32 / 2: T = 6, tau = (3, 2).
TEST(Planner, AsksThePolicyHowLongPacedRoundsAre) {
  Job job = test::toy_job(1000, 32, 1, 2, 1);
  EXPECT_FALSE(Planner(job, {}, balancing::make_policy("orchestra"), Members()).length(0, 0))
      << "in this mode all rounds have the same length";
  job.sync = parse_sync("orchestra");
  Members members;
  Planner planner(job, {}, balancing::make_policy("orchestra"), members);
  EXPECT_FALSE(planner.length(0, 0)) << "there are no workers";
  for (int i = 0; i < 2; ++i) join(members, 0);
  EXPECT_EQ(planner.length(1, 0), 32U);
  RoundState round{{1, 1, 0, {0, 32}, 32, false, false, {1, 1}}, Purpose::train, Time{}};
  EXPECT_EQ(planner.batch_for(round), 16U);
  round.batch = 16;
  for (const Planner::Share& share : planner.divide(round, {0, 32})) {
    EXPECT_EQ(share.positions.size(), 16U);
    planner.observe({share.slot, 1, 16, 2.0 + share.slot});
  }
  planner.ended(round, 3, 0);
  EXPECT_EQ(planner.length(2, 0), 5 * 16U);
  RoundState next{{1, 2, 0, {32, 112}, 80, false, false, {3, 1}}, Purpose::train, Time{}};
  EXPECT_EQ(planner.batch_for(next), 16U) << "the batch of all rounds, whatever their length";
  next.batch = 16;
  const std::vector<Planner::Share> shares = planner.divide(next, {32, 112});
  ASSERT_EQ(shares.size(), 2U);
  EXPECT_EQ(shares[0].positions, (Interval{32, 80}));
  members.workers.at(1).most = 12;
  EXPECT_EQ(planner.length(3, 0), 5 * 12U) << "the smaller memory";
  EXPECT_DEATH(Planner(job, {}, balancing::make_policy("equal"), members), "decides their length");
}

// Divides equally, in rounds of one mini-batch each, and records the positions in its RoundEnds.
class Pacer final : public balancing::Policy, public balancing::Pacing {
 public:
  explicit Pacer(std::vector<std::uint64_t>& positions) : positions_(positions) {}
  void observe(const balancing::Sample&) override {}
  std::vector<std::uint64_t> plan(const balancing::Request& request) override {
    return equal_->plan(request);
  }
  [[nodiscard]] std::string save() const override { return {}; }
  void restore(const std::string&) override {}
  Pacing* pacing() override { return this; }
  std::vector<std::uint64_t> steps(const balancing::Request& request) override {
    return std::vector<std::uint64_t>(request.workers.size(), 1);
  }
  void ended(const balancing::RoundEnd& round) override { positions_.push_back(round.positions); }

 private:
  std::vector<std::uint64_t>& positions_;
  const std::unique_ptr<Policy> equal_ = balancing::make_policy("equal");
};

TEST(Planner, RoundEndCountsOnlyReportedPositions) {
  Job job = test::toy_job(1000, 32, 1, 2, 1);
  job.sync = parse_sync("orchestra");
  std::vector<std::uint64_t> positions;
  Planner planner(job, {}, std::make_unique<Pacer>(positions), Members());
  RoundState round{{1, 0, 0, {0, 32}, 32, false, false, {1, 1}}, Purpose::train, Time{}};
  round.add(1, {{0, 16}, 0});
  round.add(2, {{16, 32}, 1});
  planner.ended(round, 3, 0);
  round.report(2, Report{}, Time{});
  planner.ended(round, 3, 0.5);
  EXPECT_EQ(positions, (std::vector<std::uint64_t>{0, 16}));
}

}  // namespace
}  // namespace steelyard::planner_test
