#include "transport/security/peer_table.h"

#include <zmq.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::handshakes_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr SocketEvent failed{ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, 0};

std::string refusal(Handshakes& it, const SocketEvent& event, bool keyed, Time now = {}) {
  const auto why = it.hear(event, {"scheduler", "tcp://box:7070", keyed}, now);
  if (why) {
    EXPECT_THAT(*why, HasSubstr("the scheduler at tcp://box:7070"));
  }
  return why.value_or("");
}

Time after(Time& now, long ms) { return now = now + milliseconds(ms); }

TEST(Handshakes, AnUnknownKeyIsReportedAtOnce) {
  Handshakes it;
  EXPECT_THAT(refusal(it, {ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, 400}, true), HasSubstr("keys add"));
}

TEST(Handshakes, KeysAtOnlyOneEndAreReportedAtOnce) {
  const SocketEvent mismatch{ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH};
  Handshakes keyed, plain;
  EXPECT_THAT(refusal(keyed, mismatch, true), HasSubstr("uses no keys"));
  EXPECT_THAT(refusal(plain, mismatch, false), HasSubstr("give --keys"));
  EXPECT_EQ(refusal(plain, {ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED}, false),
            "");
}

// One handshake may fail because the peer has just exited; a successful one resets the count.
TEST(Handshakes, AnotherKeyIsReportedAfterFiveFailures) {
  const SocketEvent stands{ZMQ_EVENT_HANDSHAKE_SUCCEEDED, 0};
  Handshakes it;
  Time now;
  const auto fail = [&] { return refusal(it, failed, true, after(now, 100)); };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(fail(), "");
  EXPECT_TRUE(it.goes_on());
  EXPECT_EQ(refusal(it, stands, true, now), "");
  EXPECT_FALSE(it.goes_on()) << "its disconnection must be reported";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(fail(), "");
  EXPECT_THAT(fail(), HasSubstr("another key than expected"));
  Handshakes plain;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(refusal(plain, failed, false, after(now, 100)), "");
  EXPECT_FALSE(plain.goes_on());
}

// It closes connections that it has no time for after a second, and libzmq's handshakes end after three.
TEST(Handshakes, AnOverloadedOrStoppedPeerIsNotTakenForOneWithAnotherKey) {
  Handshakes it;
  Time now;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(refusal(it, failed, true, after(now, 1100)), "");
    EXPECT_TRUE(it.goes_on());
  }
}

TEST(Handshakes, FailuresThatAreReadTogetherCountOnce) {
  Handshakes it;
  Time now;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(refusal(it, failed, true, after(now, 1)), "");
  EXPECT_TRUE(it.goes_on());
}

}  // namespace
}  // namespace steelyard::handshakes_test
