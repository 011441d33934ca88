#include "transport/connections.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace steelyard::held_end_test {
namespace {

class HeldEndTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0); }
  int ends_[2];
};

TEST_F(HeldEndTest, ReportsWhetherTheOtherEndClosed) {
  const HeldEnd held(ends_[0]);
  EXPECT_FALSE(held.closed_there());
  close(ends_[0]);
  EXPECT_FALSE(held.closed_there()) << "closed at this end";
  ASSERT_EQ(write(ends_[1], "x", 1), 1);
  EXPECT_FALSE(held.closed_there()) << "the other end is still open";
  close(ends_[1]);
  EXPECT_TRUE(held.closed_there()) << "closed, although a byte is unread";
}

TEST_F(HeldEndTest, ClosesItsEndWhenDestroyed) {
  { const HeldEnd first(ends_[0]), second{HeldEnd(ends_[0])}; }
  close(ends_[0]);
  char byte = 0;
  EXPECT_EQ(read(ends_[1], &byte, 1), 0) << "the other end sees the end of the stream";
  close(ends_[1]);
}

TEST_F(HeldEndTest, AnInvalidDescriptorCountsAsClosed) {
  EXPECT_TRUE(HeldEnd(-1).closed_there());
  for (const int end : ends_) close(end);
}

}  // namespace
}  // namespace steelyard::held_end_test
