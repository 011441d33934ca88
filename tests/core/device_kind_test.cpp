#include "core/device_name.h"

#include <gtest/gtest.h>

namespace steelyard::device_kind_test {
namespace {

TEST(DeviceKind, EachKindHasAName) {
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::gpu}) EXPECT_EQ(device_kind(name(kind)), kind);
  EXPECT_EQ(name(DeviceKind::gpu), "gpu");
}

}  // namespace
}  // namespace steelyard::device_kind_test
