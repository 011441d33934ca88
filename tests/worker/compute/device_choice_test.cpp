#include "worker/compute/device_choice.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace steelyard::device_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A machine with one device for each number of free bytes.
DevicesHere machine(const std::vector<std::uint64_t>& free) {
  DevicesHere here{.cuda = true};
  for (const std::uint64_t bytes : free) {
    nn::CudaDevice device{.name = "Card " + std::to_string(here.devices.size()), .memory_bytes = 80};
    device.state = nn::GpuState{device.name, 80, 80 - bytes, 0.5};
    here.devices.push_back(device);
  }
  return here;
}

std::string refusal(const std::string& text, const DevicesHere& here) {
  try {
    (void)find_device(text, here);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "found";
}

Device cuda(unsigned number) { return {Device::Type::cuda, number}; }

TEST(FindDevice, FindsADeviceByName) {
  EXPECT_EQ(find_device("cpu", {}), Device{});
  EXPECT_EQ(find_device("cpu", machine({1, 2})), Device{});
  EXPECT_EQ(find_device("cuda:1", machine({1, 2})), cuda(1));
  EXPECT_EQ(find_device("host-cuda", {.host_cuda = true}), Device{Device::Type::host_cuda});
}

TEST(FindDevice, AutoIsTheDeviceWithTheMostFreeMemory) {
  EXPECT_EQ(find_device("auto", machine({10, 70, 30})), cuda(1));
  EXPECT_EQ(find_device("auto", machine({40, 40})), cuda(0)) << "the first of equals";
  DevicesHere silent = machine({70, 30});
  silent.devices[0].state.reset();  // unknown to NVML: all of its 80 bytes count as free
  EXPECT_EQ(find_device("auto", silent), cuda(0));
}

TEST(FindDevice, AutoIsTheCpuWithoutOtherDevices) {
  EXPECT_EQ(find_device("auto", {}), Device{});
  EXPECT_EQ(find_device("auto", machine({})), Device{});
  EXPECT_EQ(find_device("auto", {.host_cuda = true}), Device{}) << "that is for tests";
}

TEST(FindDevice, ErrorsListTheAvailableDevices) {
  EXPECT_EQ(refusal("cuda:3", machine({1, 2})),
            "device \"cuda:3\": this machine has 2 of them, cuda:0 (Card 0), cuda:1 (Card 1): choose one of "
            "these");
  EXPECT_THAT(refusal("cuda:1", machine({1})), HasSubstr("has 1 of them, cuda:0 (Card 0): choose that"));
  EXPECT_THAT(refusal("cuda:0", machine({})), AllOf(HasSubstr("no CUDA device"), HasSubstr("nvidia-smi")));
  EXPECT_THAT(refusal("cuda:0", {}), AllOf(HasSubstr("without CUDA"), HasSubstr("script/build cuda")));
  EXPECT_THAT(refusal("host-cuda", {}), HasSubstr("choose \"cpu\""));
  for (const char* none : {"gpu", "", "cuda:0-1"})
    EXPECT_THAT(refusal(none, machine({1, 2})), HasSubstr("give " + device_expected())) << none;
}

TEST(FindDevice, TheCpuIsAlwaysAvailable) { EXPECT_EQ(device_here("cpu"), Device{}); }

}  // namespace
}  // namespace steelyard::device_test
