// Positions that a round leaves over, and the workers that get them in the next round.
#include "scheduler/rounds/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "scheduler/rounds/assignments.h"
#include "tests/support/toy_job.h"

namespace steelyard::left_over_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Records its samples.
class Shown : public balancing::Policy {
 public:
  explicit Shown(std::vector<balancing::Sample>& samples) : samples_(samples) {}
  void observe(const balancing::Sample& sample) override { samples_.push_back(sample); }
  std::vector<std::uint64_t> plan(const balancing::Request&) override { return {}; }
  [[nodiscard]] std::string save() const override { return ""; }
  void restore(const std::string&) override {}

 private:
  std::vector<balancing::Sample>& samples_;
};

// Equal shares for three workers.
class LeftOver : public ::testing::Test {
 protected:
  LeftOver() : job(test::toy_job(60, 30, 1, 3, 1)) {
    job.sync = parse_sync("backup:1");
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      WorkerMember worker;
      worker.slot = slot;
      worker.node = {Role::worker, slot + 1};
      worker.name = std::to_string(slot);
      worker.ready = true;
      members.add(worker);
    }
    assignments.emplace(job, Progress{}, balancing::make_policy("equal"), members, rounds);
  }
  // "0:[10, 20)": a worker's slot and its positions.
  static std::vector<std::string> in_words(const Orders& orders) {
    std::vector<std::string> words;
    for (const Order& order : orders) {
      const auto& it = std::get<Assign>(order);
      const Interval part = it.start.piece.positions;
      words.push_back(std::to_string(it.slot) + ":[" + std::to_string(part.begin) + ", " +
                      std::to_string(part.end) + ")");
    }
    return words;
  }
  std::vector<std::string> begin(Round number, Interval positions, std::vector<Interval> skipped) {
    rounds.clear();
    rounds.emplace_back(
        BeginRound{1, number, 0, positions, positions.size(), false, false, {}, std::move(skipped)},
        Purpose::train, Time{});
    return in_words(assignments->begin(Time{}, rounds.front()));
  }

  Job job;
  Members members;
  std::list<RoundState> rounds;
  std::optional<Assignments> assignments;
};

TEST_F(LeftOver, SharesSkipHolesAndRotateEachRound) {
  EXPECT_THAT(begin(0, {10, 60}, {{20, 40}}), ElementsAre("0:[10, 20)", "1:[40, 50)", "2:[50, 60)"));
  EXPECT_THAT(begin(1, {10, 60}, {{20, 40}}), ElementsAre("1:[10, 20)", "2:[40, 50)", "0:[50, 60)"));
}

TEST_F(LeftOver, AShareAcrossAHoleIsTwoPieces) {
  EXPECT_THAT(begin(0, {10, 60}, {{15, 35}}),
              ElementsAre("0:[10, 15)", "0:[35, 40)", "1:[40, 50)", "2:[50, 60)"));
}

TEST_F(LeftOver, OrphanedPiecesAreAdopted) {
  for (auto& [slot, worker] : members.workers) worker.present = false;
  EXPECT_THAT(begin(0, {10, 60}, {{15, 35}}), IsEmpty());
  members.workers.at(2).present = true;
  EXPECT_THAT(in_words(assignments->adopt_orphans(Time{})), ElementsAre("2:[10, 15)", "2:[35, 60)"));
}

TEST_F(LeftOver, LeftOverPiecesAreNoLongerOwed) {
  begin(0, {0, 30}, {});
  RoundState& round = rounds.front();
  const auto report = [&](PieceId id) {
    Report its;
    its.piece.id = id;
    its.piece.positions = {(id - 1) * 10, id * 10};
    return assignments->report(Time{}, members.workers.at(static_cast<std::uint32_t>(id - 1)), its);
  };
  EXPECT_EQ(round.owing(), 3U);
  EXPECT_FALSE(round.any_reported());
  EXPECT_TRUE(report(1));
  EXPECT_TRUE(report(3));
  EXPECT_EQ(round.owing(), 1U);
  assignments->leave_over(Time{}, round);
  EXPECT_TRUE(round.reported());
  EXPECT_THAT(round.left_over(), ElementsAre(Interval{10, 20}));
  EXPECT_THAT(between_holes(round.open()), ElementsAre(Interval{0, 10}, Interval{20, 30}));
  EXPECT_FALSE(report(2));
}

// Otherwise a worker that is always late would keep its share.
TEST_F(LeftOver, ThePolicySeesTheTimeSpentOnALatePiece) {
  Planner planner(job, {}, balancing::make_policy("lb-bsp"), members);
  const std::string before = planner.state();
  RoundState round({.positions = {0, 30}}, Purpose::train, Time{});
  round.add(1, {{0, 30}, 1});
  leave_unreported(Time{} + from_seconds(2), round, planner, members);
  EXPECT_NE(planner.state(), before);
  EXPECT_THAT(round.pieces(), SizeIs(0));
}

// Worker 1 spent on its two late pieces the time left by the reported one. Piece 5 was issued later: when
// worker 2 began it is unknown.
TEST_F(LeftOver, LatePiecesGiveOneSampleWithoutReportedTime) {
  std::vector<balancing::Sample> samples;
  Planner planner(job, {}, std::make_unique<Shown>(samples), members);
  const Time begin = Time{} + from_seconds(1);
  RoundState round({.positions = {0, 60}}, Purpose::train, begin);
  PieceId id = 0;
  for (const std::uint32_t owner : {0U, 1U, 1U, 1U}) {
    round.add(id + 1, {{id * 10, id * 10 + 10}, owner, false, begin});
    ++id;
  }
  round.add(5, {{40, 50}, 2, false, begin + from_seconds(1)});  // issued again, from a lost worker
  Report half;
  half.seconds = 0.5;
  round.report(2, half, begin + from_seconds(1));
  leave_unreported(begin + from_seconds(2), round, planner, members);
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_EQ(samples[0].slot, 0U);
  EXPECT_EQ(samples[0].samples, 10U);
  EXPECT_DOUBLE_EQ(samples[0].seconds, 2);
  EXPECT_EQ(samples[1].slot, 1U);
  EXPECT_EQ(samples[1].samples, 20U);
  EXPECT_DOUBLE_EQ(samples[1].seconds, 1.5);
  EXPECT_THAT(round.left_over(), ElementsAre(Interval{0, 10}, Interval{20, 50}));
}

}  // namespace
}  // namespace steelyard::left_over_test
