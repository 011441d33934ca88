#include "app/tools/devices_command.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace steelyard::table_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const DeviceLine processor{
    .name = "AMD EPYC", .what = "2 cores, kernels for v4, bf16", .speed = nn::DeviceSpeed{24.4, 112.6}};
const DeviceLine gpu{.device = {Device::Type::cuda, 0},
                     .name = "NVIDIA H200",
                     .what = "compute 9.0",
                     .memory_bytes = 150'000'000'000,
                     .free_bytes = 40'400'000'000,
                     .utilization = 0.35};

TEST(DevicesTable, HasALineForEachDevice) {
  EXPECT_EQ(devices_table({processor, gpu}, true), R"(
device  name                                        memory           in use  copies        multiplies float32
cpu     AMD EPYC     2 cores, kernels for v4, bf16  -                -       24 GB/s       113 GFLOP/s
cuda:0  NVIDIA H200  compute 9.0                    150 GB, 40 free  35 %    not measured  not measured
To choose one for a worker, set device = "cuda:0" in its section of the job, or --device cuda:0
)" + 1);
}

TEST(DevicesTable, ExplainsWhyNoGpuIsListed) {
  EXPECT_THAT(devices_table({processor}, false), HasSubstr("built without CUDA (script/build cuda)"));
  EXPECT_THAT(devices_table({processor}, true), HasSubstr("none visible to this process"));
  EXPECT_THAT(devices_table({processor, gpu}, true), Not(HasSubstr("GPUs:")));
}

TEST(DevicesTable, TheJsonFileHasAllNumbers) {
  const auto json = nlohmann::json::parse(devices_json({processor, gpu}))["devices"];
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["device"], "cpu");
  EXPECT_EQ(json[0]["name"], "AMD EPYC");
  EXPECT_EQ(json[0]["float32_gflop_s"], 112.6);
  EXPECT_EQ(json[0]["copy_gb_s"], 24.4);
  EXPECT_TRUE(json[0]["memory_bytes"].is_null());
  EXPECT_EQ(json[1]["device"], "cuda:0");
  EXPECT_EQ(json[1]["memory_bytes"], 150'000'000'000);
  EXPECT_EQ(json[1]["free_bytes"], 40'400'000'000);
  EXPECT_EQ(json[1]["utilization"], 0.35);
  EXPECT_TRUE(json[1]["copy_gb_s"].is_null());
}

}  // namespace
}  // namespace steelyard::table_test
