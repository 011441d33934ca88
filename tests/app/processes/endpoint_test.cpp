#include "app/processes/endpoint.h"

#include <gmock/gmock.h>

#include <string>

#include "core/error.h"
#include "transport/address.h"

namespace steelyard::endpoint_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Call>
std::string refusal(const Call& call, ExitCode code = ExitCode::usage) {
  try {
    call();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), code);
    return failure.what();
  }
  return "";
}
std::string connect_error(const std::string& text) {
  return refusal([&] { complete_endpoint(text); });
}
std::string listen_error(const std::string& text, ExitCode code = ExitCode::usage) {
  return refusal([&] { listening_endpoint(text); }, code);
}

TEST(Endpoint, IsCompleted) {
  EXPECT_EQ(complete_endpoint("127.0.0.1:7070"), "tcp://127.0.0.1:7070");
  EXPECT_EQ(complete_endpoint("box:7070"), "tcp://box:7070");
  EXPECT_EQ(scheduler_places("box:7070"), "tcp://box:7070");
  EXPECT_EQ(scheduler_places("box:7070,10.0.0.2:1,ipc:///s"), "tcp://box:7070,tcp://10.0.0.2:1,ipc:///s");
  EXPECT_EQ(complete_endpoint("[::1]:7070"), "tcp://[::1]:7070");
  EXPECT_EQ(complete_endpoint("ipc:///tmp/a"), "ipc:///tmp/a");
  for (const char* none : {"", "box", "box:", ":7070", "udp://box:1", "ipc://", "[box]:1"})
    EXPECT_THAT(connect_error(none), HasSubstr("is not an endpoint: expected host:port")) << none;
  EXPECT_THAT(connect_error("::1:7070"), HasSubstr("an IPv6 address needs brackets, as in [::1]:7070"));
}

TEST(Endpoint, PortsDoNotWrap) {
  for (const char* port : {"80000", "-1", "0", "65536", "7070x", "99999999999999999999", "*"}) {
    EXPECT_THAT(connect_error(std::string("127.0.0.1:") + port),
                AllOf(HasSubstr(std::string("there is no port ") + port), HasSubstr("from 1 to 65535")));
  }
  EXPECT_THAT(listen_error("127.0.0.1:80000"), HasSubstr("or * for any free port"));
  EXPECT_EQ(complete_endpoint("127.0.0.1:65535"), "tcp://127.0.0.1:65535");
}

TEST(Endpoint, NamesBecomeAddressesToListenOn) {
  EXPECT_EQ(listening_endpoint("localhost:7070"), "tcp://127.0.0.1:7070");
  EXPECT_EQ(listening_endpoint("lo:7070"), "tcp://127.0.0.1:7070") << "a network interface";
  EXPECT_EQ(listening_endpoint("*:*"), "tcp://0.0.0.0:*");
  EXPECT_EQ(listening_endpoint("127.0.0.1:0"), "tcp://127.0.0.1:*");
  EXPECT_EQ(listening_endpoint("[::1]:*"), "tcp://[::1]:*");
  EXPECT_THAT(listen_error("no-such-host.invalid:7070", ExitCode::configuration),
              AllOf(HasSubstr("no address is known for 'no-such-host.invalid'"), HasSubstr("* for all")));
}

TEST(Endpoint, PathsTooLongForSocketsAreRefused) {
  EXPECT_EQ(listen_error("ipc:///" + std::string(106, 'x')), "");
  EXPECT_THAT(listen_error("ipc:///" + std::string(107, 'x')),
              AllOf(HasSubstr("has 108 characters"), HasSubstr("can have 107")));
}

// A name that cannot be resolved counts as open to all.
TEST(Endpoint, OnlyLocalAddressesAreLoopback) {
  for (const char* here : {"tcp://127.0.0.1:1", "tcp://127.8.9.10:1", "tcp://[::1]:1", "tcp://localhost:1",
                           "tcp://[::ffff:127.0.0.1]:1", "ipc:///tmp/a"})
    EXPECT_TRUE(is_loopback(here)) << here;
  for (const char* open :
       {"tcp://0.0.0.0:1", "tcp://[::]:1", "tcp://*:1", "tcp://10.0.0.1:1", "tcp://127.example.invalid:1",
        "tcp://no-such-host.invalid:1", "tcp://[::ffff:10.0.0.1]:1"})
    EXPECT_FALSE(is_loopback(open)) << open;
  EXPECT_EQ(refusal([] { require_loopback("tcp://0.0.0.0:1", true); }), "");
  EXPECT_THAT(refusal([] { require_loopback("tcp://0.0.0.0:1", false); }, ExitCode::configuration),
              HasSubstr("--insecure"));
}

TEST(Endpoint, AProcessCanReachItsOwnEndpoint) {
  EXPECT_EQ(own_endpoint("tcp://0.0.0.0:7070"), "tcp://127.0.0.1:7070");
  EXPECT_EQ(own_endpoint("tcp://[::]:7070"), "tcp://[::1]:7070");
  EXPECT_EQ(own_endpoint("tcp://10.0.0.1:7070"), "tcp://10.0.0.1:7070");
  EXPECT_EQ(own_endpoint("ipc:///tmp/a"), "ipc:///tmp/a");
}

TEST(Endpoint, OthersConnectToTheAdvertisedAddress) {
  const auto reached = [](const std::string& bound, const std::string& advertise) {
    return reachable_endpoint(bound, advertise, "tcp://127.0.0.1:7070");
  };
  EXPECT_EQ(reached("tcp://0.0.0.0:5", "box.example.org"), "tcp://box.example.org:5");
  EXPECT_EQ(reached("tcp://0.0.0.0:5", "::1"), "tcp://[::1]:5");
  EXPECT_EQ(reached("tcp://0.0.0.0:5", "[::1]"), "tcp://[::1]:5");
  EXPECT_EQ(reached("tcp://127.0.0.1:5", ""), "tcp://127.0.0.1:5");
  EXPECT_EQ(reached("ipc:///tmp/a", ""), "ipc:///tmp/a");
  EXPECT_THAT(refusal([&] { reached("tcp://0.0.0.0:5", "box:7070"); }),
              AllOf(HasSubstr("--advertise box:7070"), HasSubstr("without a port")));
}

}  // namespace
}  // namespace steelyard::endpoint_test
