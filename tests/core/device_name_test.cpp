#include "core/device_name.h"

#include <gmock/gmock.h>

namespace steelyard::device_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Device, NamesRoundTrip) {
  using Type = Device::Type;
  for (const auto& [text, device] : {std::pair<const char*, Device>{"cpu", {}},
                                     {"cuda:0", {Type::cuda, 0}},
                                     {"cuda:11", {Type::cuda, 11}},
                                     {"host-cuda", {Type::host_cuda}}}) {
    EXPECT_EQ(device_in(text), device) << text;
    EXPECT_EQ(name(device), text);
    EXPECT_TRUE(is_device(text) && is_device_list(text)) << text;
  }
  EXPECT_EQ(device_in("auto"), std::nullopt) << "the device depends on the machine";
  EXPECT_TRUE(is_device("auto"));
}

TEST(Device, EveryDeviceHasAKindForPolicies) {
  EXPECT_EQ(kind({}), DeviceKind::cpu);
  EXPECT_EQ(kind({Device::Type::cuda, 1}), DeviceKind::gpu);
  EXPECT_EQ(kind({Device::Type::host_cuda}), DeviceKind::gpu);
}

TEST(Device, InvalidNamesAreRefused) {
  for (const char* text :
       {"", "gpu", "cuda", "cuda:", "cuda:-1", "cuda:256", "cuda:1.5", "cuda:x", "cuda:0 ", "CPU", "cpu:0"}) {
    EXPECT_FALSE(is_device(text) || device_in(text)) << text;
    EXPECT_FALSE(is_device_list(text)) << text;
  }
  EXPECT_THAT(device_expected(), HasSubstr("\"cuda:0\""));
}

TEST(Device, ListsNameSeveralDevices) {
  EXPECT_THAT(each_device("cuda:2-4"), ElementsAre("cuda:2", "cuda:3", "cuda:4"));
  EXPECT_THAT(each_device("cuda:7-7"), ElementsAre("cuda:7"));
  EXPECT_THAT(each_device("auto"), ElementsAre("auto"));
  EXPECT_FALSE(is_device("cuda:0-3")) << "a worker has one device";
  for (const char* text : {"cuda:3-2", "cuda:0-", "cuda:-3", "cuda:0-256", "cuda:0-1-2", "gpu:0-1"})
    EXPECT_FALSE(is_device_list(text)) << text;
}

}  // namespace
}  // namespace steelyard::device_test
