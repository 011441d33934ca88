#include "protocol/keys.h"

#include <gtest/gtest.h>

namespace steelyard::keyed_endpoint_test {
namespace {

const std::string key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";

TEST(KeyedEndpoint, AKeyCanBeAppendedAndSplitOff) {
  for (const std::string& address :
       {std::string("tcp://10.0.0.1:4711"), std::string("tcp://[::1]:1"), std::string("ipc:///a;b")}) {
    const KeyedEndpoint split = split_key(with_key(address, key));
    EXPECT_EQ(split.address, address);
    EXPECT_EQ(split.key, key);
    EXPECT_EQ(with_key(address, ""), address);
    EXPECT_EQ(split_key(address).address, address);
    EXPECT_EQ(split_key(address).key, "");
  }
}

TEST(KeyedEndpoint, SeveralPlacesAreSplitAtCommas) {
  EXPECT_EQ(split_places("tcp://a:1"), std::vector<std::string>{"tcp://a:1"});
  EXPECT_EQ(split_places("tcp://a:1,tcp://b:2,ipc:///c"),
            (std::vector<std::string>{"tcp://a:1", "tcp://b:2", "ipc:///c"}));
}

TEST(KeyedEndpoint, TheAddressIsCheckedWithoutItsKey) {
  EXPECT_EQ(endpoint_trouble(with_key("tcp://10.0.0.1:4711", key)), "");
  EXPECT_NE(endpoint_trouble(with_key("tcp://10.0.0.1:471100", key)), "");
  EXPECT_NE(endpoint_trouble("tcp://10.0.0.1:4711;short"), "");
}

}  // namespace
}  // namespace steelyard::keyed_endpoint_test
