#include "transport/nudges.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace steelyard::flight_test {
namespace {

// Two ends of a connection over loopback.
class Connection : public ::testing::Test {
 protected:
  void SetUp() override {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size), 0);
    near = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect(near, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    far = accept(listener, nullptr, nullptr);
    close(listener);
  }
  void TearDown() override {
    close(near);
    close(far);
  }

  int near = -1, far = -1;
};

TEST_F(Connection, IsConfirmedByTheOtherKernel) {
  ASSERT_EQ(send(near, "x", 1, 0), 1);
  std::array<char, 2> answer{};
  ASSERT_EQ(recv(far, answer.data(), 1, 0), 1);
  ASSERT_EQ(send(far, "y", 1, 0), 1);  // an answer acknowledges the first byte
  ASSERT_EQ(recv(near, answer.data(), 1, 0), 1);
  const auto flight = flight_of(near);
  ASSERT_TRUE(flight);
  EXPECT_FALSE(flight->unconfirmed);
  EXPECT_FALSE(flight->unsent);
  EXPECT_EQ(flight->repeated, 0U);
  EXPECT_LT(flight->round_trip, from_seconds(60));
}

TEST_F(Connection, HasUnsentBytesIfThePeerHasNoRoom) {
  std::array<char, 1 << 16> bytes{};
  while (send(near, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
  const auto flight = flight_of(near);
  ASSERT_TRUE(flight);
  EXPECT_TRUE(flight->unsent);
}

TEST_F(Connection, IsPreparedForLosses) {
  expect_losses(near, *flight_of(near));
  int linear = 0;
  socklen_t size = sizeof linear;
  ASSERT_EQ(getsockopt(near, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &linear, &size), 0);
  EXPECT_EQ(linear, 1);
  ASSERT_EQ(send(near, "x", 1, 0), 1) << "and it still works";
}

TEST(Flight, IsNulloptWithoutTcp) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  EXPECT_FALSE(flight_of(ends[0]));
  expect_losses(ends[0], {});  // has no effect
  close(ends[0]);
  close(ends[1]);
  EXPECT_FALSE(flight_of(-1));
}

}  // namespace
}  // namespace steelyard::flight_test
