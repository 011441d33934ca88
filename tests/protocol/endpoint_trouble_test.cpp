#include "protocol/keys.h"

#include <gmock/gmock.h>

namespace steelyard::endpoint_trouble_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(EndpointTrouble, ValidEndpointsHaveNone) {
  for (const char* good : {"tcp://10.0.0.9:7071", "tcp://box-7.example:1", "tcp://[fe80::1]:65535",
                           "ipc:///tmp/socket", "local"}) {
    EXPECT_THAT(endpoint_trouble(good), IsEmpty()) << good;
  }
}

TEST(EndpointTrouble, NamesTheDefect) {
  EXPECT_THAT(endpoint_trouble("tcp://0.0.0.0:7071"), HasSubstr("not the address of a machine"));
  EXPECT_THAT(endpoint_trouble("tcp://*:7071"), HasSubstr("not the address of a machine"));
  EXPECT_THAT(endpoint_trouble("tcp://:7071"), HasSubstr("not the address of a machine"));
  EXPECT_THAT(endpoint_trouble("tcp://[::]:7071"), HasSubstr("not the address of a machine"));
  EXPECT_THAT(endpoint_trouble("tcp://10.0.0.9:7071:34567"), HasSubstr("more than a host and a port"));
  EXPECT_THAT(endpoint_trouble("tcp://tcp://10.0.0.9:7071"), HasSubstr("more than a host and a port"));
  EXPECT_THAT(endpoint_trouble("tcp://the box:7071"), HasSubstr("blanks"));
  EXPECT_THAT(endpoint_trouble("tcp://box\x1b[2J:7071"), HasSubstr("control characters"));
  for (const char* port : {"0", "65536", "-1", "7o7o", ""}) {
    EXPECT_THAT(endpoint_trouble(std::string("tcp://box:") + port), HasSubstr("from 1 to 65535")) << port;
  }
}

}  // namespace
}  // namespace steelyard::endpoint_trouble_test
