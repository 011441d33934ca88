// `steelyard devices`, and errors for devices that do not exist.
#include <gmock/gmock.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "nn/cuda_devices.h"
#include "tests/support/process_run.h"

namespace steelyard::process_devices_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ProcessDevices : public ProcessTest {};

TEST_F(ProcessDevices, AreListedWithTheirSpeed) {
  ASSERT_EQ(run({"devices", "--json", path("devices.json")}), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("\ncpu "), HasSubstr(" GFLOP/s"), HasSubstr("device = \"")));
  const auto json = nlohmann::json::parse(text_of(path("devices.json")))["devices"];
  ASSERT_EQ(json.size(), 1 + nn::cuda_devices().size());
  EXPECT_EQ(json[0]["device"], "cpu");
  EXPECT_GT(json[0]["copy_gb_s"].get<double>(), 0);
  EXPECT_EQ(run({"devices", "--json", path("nowhere/devices.json")}), 74);
}

TEST_F(ProcessDevices, AMissingDeviceIsRefusedBeforeAnythingStarts) {
  EXPECT_EQ(run({"train", job_, "--run-dir", path("run"), "--set", "worker.ada.device=cuda:200"}), 78);
  EXPECT_THAT(said_, HasSubstr("worker 'ada': device \"cuda:200\": this "));
  EXPECT_FALSE(std::filesystem::exists(path("run")));
  EXPECT_EQ(run({"profile", job_, "--device", "gpu"}), 2);
  EXPECT_THAT(said_, HasSubstr("--device: \"gpu\": give \"cpu\""));
}

TEST_F(ProcessDevices, AutoIsTheCpuWithoutAGpu) {
  if (!nn::cuda_devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(run({"train", job_, "--run-dir", path("run"), "--set", "worker.ada.device=auto"}), 0) << said_;
  EXPECT_EQ(run({"train", job_, "--run-dir", path("tf32"), "--set", "worker.ada.device=auto", "--set",
                 "worker.ada.precision=tf32"}),
            78);
  EXPECT_THAT(said_, HasSubstr("worker 'ada': precision = \"tf32\" is for CUDA devices"));
}

}  // namespace
}  // namespace steelyard::process_devices_test
