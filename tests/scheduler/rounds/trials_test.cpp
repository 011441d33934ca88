// Workers that are measured beside a round: their grain belongs to another share, and no round waits for
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/rounds/assignments.h"
#include "tests/support/toy_job.h"

namespace steelyard::trials_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Gives worker 1 one grain, and worker 0 the rest.
class Tries final : public balancing::Policy {
 public:
  explicit Tries(std::vector<balancing::Sample>& seen) : seen_(seen) {}

  void observe(const balancing::Sample& sample) override { seen_.push_back(sample); }
  std::vector<std::uint64_t> plan(const balancing::Request& request) override {
    if (request.workers.size() == 1) return {request.positions};
    return {request.positions - 1, 1};
  }
  [[nodiscard]] std::vector<std::uint32_t> beside_round() const override { return {1}; }
  [[nodiscard]] std::string save() const override { return ""; }
  void restore(const std::string&) override {}

 private:
  std::vector<balancing::Sample>& seen_;
};

class TrialsTest : public ::testing::Test {
 protected:
  TrialsTest() {
    for (const char* name : {"ann", "ben"}) {
      WorkerMember worker;
      worker.slot = static_cast<std::uint32_t>(members.workers.size());
      worker.node = {Role::worker, worker.slot + 1};
      worker.name = name;
      worker.ready = true;
      members.add(worker);
    }
  }
  // Begins a round of these positions.
  Orders begin(const std::string& sync = "bsp", std::uint64_t grain = 5, Interval positions = {0, 30}) {
    job.sync = parse_sync(sync);
    job.grain = static_cast<std::uint32_t>(grain);
    assignments.emplace(job, Progress{}, std::make_unique<Tries>(seen), members, rounds);
    rounds.emplace_back(BeginRound{1, 0, 0, positions, positions.size(), false, false}, Purpose::train,
                        Time{});
    return assignments->begin(Time{}, rounds.front());
  }
  Report report(const Piece& piece, double seconds) {
    Report it;
    it.piece = piece;
    it.seconds = seconds;
    return it;
  }
  bool told(std::uint32_t slot, const Report& report) {
    return assignments->report(Time{}, members.workers.at(slot), report).has_value();
  }

  Job job = test::toy_job(60, 30, 1, 3, 1);
  Members members;
  std::list<RoundState> rounds;
  std::vector<balancing::Sample> seen;
  std::optional<Assignments> assignments;
};

TEST_F(TrialsTest, TheGrainBelongsToAnotherShareAndTheRoundDoesNotWait) {
  const Orders orders = begin();
  ASSERT_THAT(orders, SizeIs(2));
  const Start& start = std::get<Assign>(orders[0]).start;
  EXPECT_EQ(start.piece.positions, (Interval{0, 30}));
  const Measure& measure = std::get<Measure>(orders[1]);
  EXPECT_EQ(measure.slot, 1U);
  EXPECT_EQ(measure.trial.piece.positions, (Interval{0, 5}));
  EXPECT_THAT(rounds.front().owed_by(1), IsEmpty());
  EXPECT_TRUE(told(0, report(start.piece, 1)));
  EXPECT_TRUE(rounds.front().reported());

  const Report late = report(measure.trial.piece, 7);
  EXPECT_FALSE(told(0, late)) << "another worker's";
  EXPECT_TRUE(told(1, late));
  EXPECT_FALSE(told(1, late)) << "it counts once";
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_EQ(seen[1].slot, 1U);
  EXPECT_EQ(seen[1].samples, 1U) << "a grain";
  EXPECT_EQ(seen[1].seconds, 7);
  const std::vector<RoundRecord::Part> trials = assignments->take_trials();
  ASSERT_THAT(trials, SizeIs(1));
  EXPECT_EQ(trials[0].name, "ben");
  EXPECT_EQ(trials[0].share, 5U);
  EXPECT_THAT(assignments->take_trials(), IsEmpty());
}

TEST_F(TrialsTest, TheReportOfALostWorkerIsUnknown) {
  const Orders orders = begin();
  members.workers.at(1).present = false;
  EXPECT_THAT(assignments->lose(Time{}, 1), IsEmpty());
  EXPECT_FALSE(told(1, report(std::get<Measure>(orders[1]).trial.piece, 7)));
}

// Its positions are now a piece of their own.
TEST_F(TrialsTest, ALateReportIsNotTakenForThatOfAPiece) {
  const Orders orders = begin();
  EXPECT_THAT(assignments->lose(Time{}, 1), IsEmpty());
  rounds.front().remove(std::get<Assign>(orders[0]).start.piece.id);
  rounds.front().add(50, {{0, 5}, 0});
  rounds.front().add(51, {{5, 30}, 0});
  EXPECT_FALSE(told(1, report(std::get<Measure>(orders[1]).trial.piece, 7)));
  EXPECT_THAT(rounds.front().owed_by(0), SizeIs(2));
}

TEST_F(TrialsTest, WhereWorkersMustFollowTheVersionsTheyComputeTheirShare) {
  for (const char* sync : {"ssp:2", "local:2", "backup:1"}) {
    rounds.clear();
    for (const Order& order : begin(sync)) EXPECT_TRUE(std::holds_alternative<Assign>(order)) << sync;
  }
  rounds.clear();
  job.optimizer.kind = nn::Optimizer::Kind::worker;
  for (const Order& order : begin()) EXPECT_TRUE(std::holds_alternative<Assign>(order));
}

TEST_F(TrialsTest, AShareBeyondTheMemoryOfTheOthersStays) {
  members.workers.at(0).most = 25;
  const Orders orders = begin();
  ASSERT_THAT(orders, SizeIs(2));
  EXPECT_EQ(std::get<Assign>(orders[1]).start.piece.positions, (Interval{25, 30}));
}

TEST(MovedTrials, TheLargestShareWithRoomGetsTheGrain) {
  const balancing::Request request{
      1, 20, {{.slot = 3}, {.slot = 4}, {.slot = 5, .most = 10}, {.slot = 6}, {.slot = 7}}};
  std::vector<std::uint64_t> grains{1, 7, 10, 1, 1};
  EXPECT_THAT(moved_trials(request, {3, 6, 9}, grains), ElementsAre(0, 3));
  EXPECT_THAT(grains, ElementsAre(0, 9, 10, 0, 1));
  EXPECT_THAT(moved_trials(request, {4}, grains), IsEmpty()) << "more than a grain";
}

}  // namespace
}  // namespace steelyard::trials_test
