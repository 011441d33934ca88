#include "scheduler/members/members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::rests_test {
namespace {

using testing::ElementsAre;

void add(Members& members, std::uint32_t slot, bool present = true) {
  WorkerMember it;
  it.node = {Role::worker, 100 + slot};
  it.slot = slot;
  it.name = "w" + std::to_string(slot);
  it.ready = true;
  it.present = present;
  members.add(it);
}

TEST(Rests, LastTenRounds) {
  Members members;
  for (std::uint32_t slot : {0, 1, 2}) add(members, slot);
  EXPECT_TRUE(rest(members, 1, 5));
  EXPECT_THAT(members.working(), ElementsAre(0, 2));
  end_rests(members, 5 + rest_rounds);
  EXPECT_THAT(members.working(), ElementsAre(0, 2));
  end_rests(members, 6 + rest_rounds);
  EXPECT_THAT(members.working(), ElementsAre(0, 1, 2));
}

TEST(Rests, TheLastWorkingWorkerDoesNotRest) {
  Members members;
  add(members, 0);
  add(members, 1);
  add(members, 2, false);
  EXPECT_TRUE(rest(members, 0, 5));
  EXPECT_FALSE(rest(members, 1, 5));
  EXPECT_FALSE(rest(members, 7, 5)) << "no worker has this slot";
  EXPECT_THAT(members.working(), ElementsAre(1));
}

TEST(Rests, EndWhenNoOtherWorkerIsLeft) {
  Members members;
  add(members, 0);
  add(members, 1);
  EXPECT_TRUE(rest(members, 0, 5));
  EXPECT_FALSE(end_rests_if_nobody_works(Time{}, members));
  members.workers.at(1).present = false;
  EXPECT_TRUE(end_rests_if_nobody_works(Time{}, members));
  EXPECT_THAT(members.working(), ElementsAre(0));
  members.workers.at(0).present = false;
  EXPECT_FALSE(end_rests_if_nobody_works(Time{}, members)) << "no worker rested";
}

TEST(Rests, CrowdedWorkersReturnWhenNoOtherIsLeft) {
  Members members;
  add(members, 0);
  add(members, 1, false);
  members.workers.at(0).room.leave(Time{});
  EXPECT_TRUE(end_rests_if_nobody_works(Time{}, members));
  EXPECT_THAT(members.working(), ElementsAre(0));
}

}  // namespace
}  // namespace steelyard::rests_test
