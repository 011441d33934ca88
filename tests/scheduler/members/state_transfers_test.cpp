#include "scheduler/members/state_transfers.h"

#include <gmock/gmock.h>

#include <tuple>

namespace steelyard::state_transfers_test {
namespace {

constexpr Term term = 3;

class StateTransfersTest : public ::testing::Test {
 protected:
  StateTransfersTest() {
    for (const std::uint32_t slot : {0U, 1U, 2U}) {
      WorkerMember worker;
      worker.node = {Role::worker, slot + 1};
      worker.slot = slot;
      worker.name = std::string(1, static_cast<char>('a' + slot));
      worker.ready = slot < 2;
      members.add(worker);
    }
  }
  static Ready lacking(std::uint64_t loading = 0) { return {{}, 0, false, loading}; }
  StateTransfers::Answer lacks(Version next, std::uint64_t loading = 0, bool saving = false) {
    return it.lacks(lacking(loading), next, false, saving);
  }
  // Attempt and version of the order to load; zeros: none.
  static std::pair<std::uint64_t, Version> load(const StateTransfers::Answer& answer) {
    return answer.load ? std::pair(answer.load->attempt, answer.load->version) : std::pair(0UL, 0UL);
  }
  std::string uploaded(std::uint64_t attempt, bool ok = true, const std::string& text = {}) {
    return it.uploaded({term, attempt, ok, text});
  }

  Members members;
  StateTransfers it{term, 7, members};
};

TEST_F(StateTransfersTest, TheFirstWorkerWithAStateUploads) {
  auto order = it.begin(9);
  ASSERT_TRUE(order);
  EXPECT_EQ(std::tuple(order->slot, order->upload.term, order->upload.attempt, order->upload.version),
            std::tuple(0U, term, 2U, 9U))
      << "attempt 1 is the checkpointer's";
  members.workers.at(0).present = false;
  order = it.begin(9);
  ASSERT_TRUE(order);
  EXPECT_EQ(std::tuple(order->slot, order->upload.attempt), std::tuple(1U, 3U));
  members.workers.at(1).ready = false;
  EXPECT_FALSE(it.begin(9));
}

TEST_F(StateTransfersTest, BeforeTrainingTheStateOfTheCheckpointIsLoaded) {
  const auto answer = it.lacks(lacking(), 7, true, false);
  EXPECT_FALSE(answer.order);
  EXPECT_EQ(load(answer), std::pair(first_state_attempt, Version{7}));
}

TEST_F(StateTransfersTest, BeforeAFreshTrainingTheServersHaveTheState) {
  StateTransfers fresh{term, 0, members};
  const auto answer = fresh.lacks(lacking(), 0, true, false);
  EXPECT_FALSE(answer.order);
  ASSERT_TRUE(answer.load);
  EXPECT_EQ(load(answer), std::pair(std::uint64_t{0}, Version{0})) << "no worker uploads attempt 1";
}

TEST_F(StateTransfersTest, AWorkerThatLacksTheStateBeginsAnAttempt) {
  const auto answer = lacks(9);
  ASSERT_TRUE(answer.order);
  EXPECT_EQ(answer.order->upload.version, 9U);
  EXPECT_EQ(load(answer), std::pair(2UL, 9UL));
  const auto repeated = lacks(9, 2);
  EXPECT_FALSE(repeated.order);
  EXPECT_EQ(load(repeated), std::pair(2UL, 9UL)) << "the first order may be lost";
  EXPECT_EQ(load(lacks(12, 2)), std::pair(2UL, 9UL)) << "it continues, although rounds have begun";
  const auto other = lacks(9);
  EXPECT_FALSE(other.order) << "a second worker loads the same one";
  EXPECT_EQ(load(other), std::pair(2UL, 9UL));
}

TEST_F(StateTransfersTest, AnOldAttemptIsReplacedOnceItIsDone) {
  (void)lacks(9);
  auto answer = lacks(10);
  EXPECT_FALSE(answer.order || answer.load) << "a worker still loads the first one";
  EXPECT_EQ(uploaded(2), "");
  EXPECT_EQ(it.version(), 9U);
  answer = lacks(10, 0, true);
  EXPECT_FALSE(answer.order || answer.load) << "the checkpointer still loads the first one";
  answer = lacks(10);
  ASSERT_TRUE(answer.order);
  EXPECT_EQ(load(answer), std::pair(3UL, 10UL));
}

TEST_F(StateTransfersTest, AFailedAttemptIsForgotten) {
  (void)lacks(9);
  EXPECT_EQ(uploaded(1, false, "late"), "") << "of an earlier attempt";
  EXPECT_EQ(uploaded(2, false, "no space"), "no space");
  EXPECT_EQ(uploaded(2, false, "no space"), "") << "repeated";
  EXPECT_EQ(load(lacks(9, 2)), std::pair(3UL, 9UL));
  EXPECT_NE(uploaded(3, false), "") << "without a reason it is a failure, too";
}

TEST_F(StateTransfersTest, ADoneAttemptCannotFail) {
  (void)lacks(9);
  EXPECT_EQ(uploaded(2), "");
  EXPECT_EQ(uploaded(2, false, "why"), "");
  EXPECT_FALSE(it.lose(0));
  EXPECT_EQ(load(lacks(9)), std::pair(2UL, 9UL));
}

TEST_F(StateTransfersTest, OnlyTheLossOfTheUploadingWorkerMatters) {
  EXPECT_FALSE(it.lose(0)) << "no attempt";
  (void)lacks(9);
  EXPECT_FALSE(it.lose(1));
  EXPECT_TRUE(it.lose(0));
  EXPECT_FALSE(it.lose(0));
}

TEST_F(StateTransfersTest, WithoutAnyStateThereIsNoAnswer) {
  for (auto& [slot, worker] : members.workers) worker.ready = false;
  const auto answer = lacks(9);
  EXPECT_FALSE(answer.order || answer.load);
}

}  // namespace
}  // namespace steelyard::state_transfers_test
