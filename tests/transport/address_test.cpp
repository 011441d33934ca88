#include "transport/address.h"

#include <gmock/gmock.h>

namespace steelyard::address_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string parts(const std::string& endpoint) {
  const auto place = host_port(endpoint);
  return place ? place->host + " and " + place->port : "";
}

TEST(Address, HasAHostAndAPort) {
  EXPECT_EQ(parts("tcp://box:7070"), "box and 7070");
  EXPECT_EQ(parts("tcp://127.0.0.1:*"), "127.0.0.1 and *");
  EXPECT_EQ(parts("tcp://[::1]:7070"), "::1 and 7070");
  EXPECT_EQ(parts("tcp://[fe80::1%eth0]:7070"), "fe80::1%eth0 and 7070");
  for (const char* none : {"tcp://box", "tcp://:7070", "tcp://box:", "tcp://::1:7070", "tcp://[box]:7070",
                           "ipc:///a:1", "box:1"})
    EXPECT_EQ(parts(none), "") << none;
  EXPECT_EQ(with_port("::1", "7070"), "[::1]:7070");
  EXPECT_EQ(with_port("box", "7070"), "box:7070");
}

TEST(Address, NumericAddressesAreRecognised) {
  EXPECT_TRUE(is_ipv4("10.0.0.1"));
  EXPECT_FALSE(is_ipv4("10.0.0.1.example.org"));
  EXPECT_FALSE(is_ipv4("::1"));
  EXPECT_TRUE(is_ipv6("::1"));
  EXPECT_FALSE(is_ipv6("[::1]"));
  EXPECT_FALSE(is_ipv6("box"));
  EXPECT_THAT(addresses_of("10.0.0.1"), ElementsAre("10.0.0.1"));
  EXPECT_THAT(addresses_of("::1"), ElementsAre("::1"));
  EXPECT_THAT(addresses_of("localhost"), ElementsAre("127.0.0.1")) << "IPv4 is preferred";
  EXPECT_THAT(addresses_of("no such host"), IsEmpty());
}

TEST(Address, TheFamilyFollowsFromTheEndpoint) {
  EXPECT_TRUE(by_ipv6("tcp://[::]:7070"));
  EXPECT_FALSE(by_ipv6("tcp://0.0.0.0:7070"));
  EXPECT_FALSE(by_ipv6("tcp://localhost:7070"));
  EXPECT_FALSE(by_ipv6("ipc:///tmp/a"));
}

}  // namespace
}  // namespace steelyard::address_test
