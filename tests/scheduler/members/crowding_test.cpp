#include "scheduler/rounds/progress_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::crowding_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Time at(double seconds) { return Time{} + from_seconds(1000 + seconds); }

class CrowdingTest : public testing::Test {
 protected:
  CrowdingTest() {
    for (std::uint32_t slot : {0, 1, 2}) {
      WorkerMember it;
      it.node = {Role::worker, 100 + slot};
      it.slot = slot;
      it.name = "w" + std::to_string(slot);
      it.ready = true;
      members.add(it);
    }
    rounds.emplace_back(BeginRound{1, 0, 0, {0, 90}, 90}, Purpose::train, at(0));
    for (std::uint32_t slot : {0, 1, 2})
      rounds.back().add(slot + 1, {{30 * slot, 30 * (slot + 1)}, slot, false, at(0)});
  }
  Room& room(std::uint32_t slot) { return members.workers.at(slot).room; }
  void report(PieceId id, double seconds) { rounds.back().report(id, {}, at(seconds)); }
  [[nodiscard]] std::vector<std::uint32_t> leaving(double seconds) const {
    return to_leave(members, rounds, at(seconds), job);
  }

  const Job job;
  Members members;
  std::list<RoundState> rounds;
};

TEST_F(CrowdingTest, AWorkerWithoutRoomForSecondsLeaves) {
  room(1).heard(at(0), 0);
  EXPECT_THAT(leaving(1), IsEmpty());
  EXPECT_THAT(leaving(3), ElementsAre(1));
}

TEST_F(CrowdingTest, ACrowdedWorkerGetsTwiceTheOthersTime) {
  room(1).heard(at(0), 0.2);
  report(1, 4);
  EXPECT_THAT(leaving(30), IsEmpty()) << "another worker is late, too";
  report(3, 5);
  EXPECT_THAT(leaving(9.9), IsEmpty());
  EXPECT_THAT(leaving(10.1), ElementsAre(1));
  report(2, 11);
  EXPECT_THAT(leaving(20), IsEmpty()) << "its piece is done";
}

TEST_F(CrowdingTest, AShortRoundWaitsAtLeastAHeartbeat) {
  room(1).heard(at(0), 0.2);
  report(1, 0.01);
  report(3, 0.01);
  EXPECT_THAT(leaving(0.03), IsEmpty());
  EXPECT_THAT(leaving(0.6), ElementsAre(1)) << "a heartbeat has passed";
}

TEST_F(CrowdingTest, ASlowWorkerOnAnUncrowdedMachineStays) {
  report(1, 1);
  report(3, 1);
  EXPECT_THAT(leaving(50), IsEmpty()) << "it is not a background worker";
  room(1).heard(at(50), 0.9);
  EXPECT_THAT(leaving(50), IsEmpty()) << "its machine has room";
}

TEST_F(CrowdingTest, OneWorkerAlwaysStays) {
  for (std::uint32_t slot : {0, 1, 2}) room(slot).heard(at(0), 0);
  EXPECT_THAT(leaving(3), ElementsAre(0, 1));
  members.workers.at(0).present = members.workers.at(1).present = false;
  EXPECT_THAT(leaving(3), IsEmpty());
}

TEST_F(CrowdingTest, AWorkerThatLeftReturnsWhenThereIsRoom) {
  room(1).heard(at(0), 0);
  room(1).leave(at(3));
  EXPECT_THAT(members.working(), ElementsAre(0, 2));
  EXPECT_THAT(leaving(10), IsEmpty()) << "it has left";
  EXPECT_THAT(to_come_back(members, at(10)), IsEmpty());
  room(1).heard(at(10), 1);
  EXPECT_THAT(to_come_back(members, at(14)), ElementsAre(1));
}

}  // namespace
}  // namespace steelyard::crowding_test
