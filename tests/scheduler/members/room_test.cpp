#include "scheduler/members/members.h"

#include <gtest/gtest.h>

#include <limits>

namespace steelyard::room_test {
namespace {

Time at(double seconds) { return Time{} + from_seconds(1000 + seconds); }

// A heartbeat every half second between two times.
void beats(Room& room, double from, double to, double left) {
  for (double now = from; now < to; now += 0.5) room.heard(at(now), left);
}

TEST(Room, IsFullAfterSecondsWithNothingLeft) {
  Room room;
  EXPECT_FALSE(room.full(at(0)));
  beats(room, 0, 2.4, 0.01);
  EXPECT_FALSE(room.full(at(1.5)));
  EXPECT_TRUE(room.full(at(2.4)));
  room.heard(at(2.5), 0.1);
  EXPECT_TRUE(room.full(at(2.5))) << "0.1 is still too little";
  room.heard(at(3), 0.5);
  EXPECT_FALSE(room.full(at(3)));
  room.heard(at(3.5), 0);
  EXPECT_FALSE(room.full(at(4))) << "the count restarts";
}

TEST(Room, InvalidSharesAreIgnored) {
  Room room;
  for (const double left :
       {-1.0, 1.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    beats(room, 0, 10, left);
    EXPECT_FALSE(room.known()) << left;
    EXPECT_FALSE(room.full(at(10)) || room.crowded()) << left;
    EXPECT_EQ(room.most(100), UINT64_MAX) << left;
  }
}

TEST(Room, AWorkerReturnsAfterSecondsWithRoom) {
  Room room;
  beats(room, 0, 3, 0);
  room.leave(at(3));
  EXPECT_TRUE(room.out());
  beats(room, 3, 20, 0);
  EXPECT_FALSE(room.is_back(at(20)));
  beats(room, 20, 23, 0.9);
  EXPECT_FALSE(room.is_back(at(22.9))) << "too short";
  beats(room, 23, 24, 0.9);
  EXPECT_TRUE(room.is_back(at(24)));
  room.come_back(at(24));
  EXPECT_FALSE(room.out() || room.is_back(at(100)));
}

TEST(Room, LeavingAgainSoonLengthensTheWait) {
  Room room;
  const auto waits = [&](double now) {  // how long it is out, with room from now on
    beats(room, now - 3, now, 0);
    room.leave(at(now));
    double after = now;
    while (!room.is_back(at(after))) room.heard(at(after += 0.5), 1);
    room.come_back(at(after));
    return after - now;
  };
  const double first = waits(10), second = waits(20), third = waits(35);
  EXPECT_GT(second, first + 1);
  EXPECT_GT(third, second + 1);
  EXPECT_LT(waits(1000), second) << "it had not left for long";
}

TEST(Room, TheLargestShareFollowsTheRoomLeft) {
  Room room;
  room.heard(at(0), 0.5);
  EXPECT_EQ(room.most(100), 50U) << "it has done nothing yet";
  room.heard(at(0.5), 0.8);
  room.did(10);
  room.heard(at(0.7), 0.8);
  room.did(400);
  EXPECT_EQ(room.most(100), UINT64_MAX) << "nothing changed: the policy decides";
  room.heard(at(1), 0.2);
  EXPECT_EQ(room.most(100), 100U) << "a quarter of the 400";
  room.heard(at(1.5), 0.7);
  EXPECT_EQ(room.most(100), UINT64_MAX) << "the difference is noise";
  room.heard(at(2), 0);
  EXPECT_EQ(room.most(100), 1U);
  room.heard(at(3), 1);
  EXPECT_EQ(room.most(100), UINT64_MAX);
}

TEST(Room, OneSmallPieceHasLittleWeight) {
  Room room;
  room.heard(at(0), 0.8);
  room.did(400);
  room.did(10);
  room.heard(at(1), 0.4);
  EXPECT_EQ(room.most(100), 100U);
}

}  // namespace
}  // namespace steelyard::room_test
