#include "nn/nvml.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

namespace steelyard::nn::nvml_test {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

constexpr int success = 0, not_supported = 3, not_found = 6, too_small = 7, no_driver = 9;  // nvmlReturn_t

// A driver with one GPU, at address "0000:65:00.0".
struct Driver {
  int users = 0, starts = no_driver, knows_utilization = success;
  unsigned percent = 35;
  NvmlMemory memory{1000, 600, 400};
  std::string name = "Some Card";
  unsigned mhz = 1500, most_mhz = 2000, celsius = 61;
  int knows_processes = success;
  std::vector<NvmlProcessUtilization> processes{};  // samples of use, the older ones first
} driver;

NvmlCalls calls() {
  NvmlCalls it;
  it.init = [] { return driver.starts == success ? ++driver.users, success : driver.starts; };
  it.shutdown = [] { return --driver.users, success; };
  it.by_bus = [](const char* bus, void** device) {
    if (std::strcmp(bus, "0000:65:00.0") != 0) return not_found;
    *device = &driver;
    return success;
  };
  it.name = [](void* device, char* name, unsigned size) {
    const auto& text = static_cast<Driver*>(device)->name;
    std::memcpy(name, text.c_str(), std::min<std::size_t>(size, text.size() + 1));
    return success;
  };
  it.memory = [](void* device, NvmlMemory* memory) {
    *memory = static_cast<Driver*>(device)->memory;
    return success;
  };
  it.utilization = [](void* device, NvmlUtilization* utilization) {
    utilization->gpu = static_cast<Driver*>(device)->percent;
    return driver.knows_utilization;
  };
  it.clock = [](void*, int, unsigned* mhz) { return *mhz = driver.mhz, success; };
  it.most_clock = [](void*, int, unsigned* mhz) { return *mhz = driver.most_mhz, success; };
  it.temperature = [](void*, int, unsigned* celsius) { return *celsius = driver.celsius, success; };
  it.processes = [](void*, NvmlProcessUtilization* list, unsigned* count, unsigned long long since) {
    std::vector<NvmlProcessUtilization> newer = driver.processes;
    std::erase_if(newer, [&](const auto& sample) { return sample.time <= since; });
    const bool fits = list != nullptr && *count >= newer.size();
    if (fits) std::ranges::copy(newer, list);
    *count = static_cast<unsigned>(newer.size());
    return driver.knows_processes != success ? driver.knows_processes
           : fits || newer.empty()           ? success
                                             : too_small;
  };
  return it;
}

std::optional<GpuState> state() {
  EXPECT_EQ(driver.users, 0);
  const auto states = gpu_states(calls(), {"0000:65:00.0"});
  EXPECT_EQ(driver.users, 0) << "the library was initialized but not shut down";
  return states.at(0);
}

TEST(Nvml, ReportsNameMemoryAndUtilization) {
  driver = {.starts = success};
  const auto it = state();
  ASSERT_TRUE(it);
  EXPECT_EQ(it->name, "Some Card");
  EXPECT_EQ(it->memory_total, 1000U);
  EXPECT_EQ(it->memory_used, 400U);
  EXPECT_EQ(it->memory_free(), 600U);
  EXPECT_THAT(it->utilization, Optional(0.35));
}

TEST(Nvml, ReportsEachAddressSeparately) {
  driver = {.starts = success};
  const auto states = gpu_states(calls(), {"0000:01:00.0", "", "0000:65:00.0"});
  ASSERT_EQ(states.size(), 3U);
  EXPECT_FALSE(states[0]) << "no GPU has this address";
  EXPECT_FALSE(states[1]) << "CUDA gave no address";
  EXPECT_TRUE(states[2]);
}

TEST(Nvml, AbsenceIsNoError) {
  driver = {};  // no driver
  EXPECT_EQ(state(), std::nullopt);
  EXPECT_FALSE(load_nvml("libno-such-library.so.1"));
  EXPECT_FALSE(load_nvml("libc.so.6")) << "the library lacks the functions";
}

TEST(Nvml, UnsupportedValuesAreLeftOut) {
  driver = {.starts = success, .knows_utilization = not_supported};
  const auto it = state();
  ASSERT_TRUE(it);
  EXPECT_EQ(it->utilization, std::nullopt);
  EXPECT_EQ(it->memory_total, 1000U);
}

// A library that returns impossible values.
TEST(Nvml, ImpossibleValuesAreClamped) {
  driver = {
      .starts = success, .percent = 4'000'000'000U, .memory = {1000, 0, 5000}, .name = std::string(500, 'x')};
  const auto it = state();
  ASSERT_TRUE(it);
  EXPECT_THAT(it->utilization, Optional(1.0));
  EXPECT_EQ(it->memory_free(), 0U);
  EXPECT_LT(it->name.size(), 96U);
}

constexpr unsigned own = 4711;

std::unique_ptr<GpuMonitor> monitor() { return GpuMonitor::open(calls(), "0000:65:00.0", own); }

TEST(GpuMonitor, ReportsWhatSlowsAGpuDown) {
  driver = {.starts = success};
  {
    const auto it = monitor();
    ASSERT_NE(it, nullptr);
    const GpuCondition first = it->read();
    EXPECT_THAT(first.clock, Optional(0.75));
    EXPECT_THAT(first.temperature, Optional(61.0));
    EXPECT_THAT(first.memory_free, Optional(600U));
    EXPECT_THAT(first.others, Optional(0.0)) << "no process used it";
    driver.mhz = 600;
    EXPECT_THAT(it->read().clock, Optional(0.3)) << "hot";
    EXPECT_EQ(driver.users, 1) << "the library stays open between readings";
  }
  EXPECT_EQ(driver.users, 0);
}

// Per process the mean of its new samples.
TEST(GpuMonitor, CountsOtherProcessesOnly) {
  driver = {.starts = success};
  const auto it = monitor();
  driver.processes = {{own, 10, 90}, {1, 10, 20}, {1, 20, 40}, {2, 20, 10}};
  EXPECT_THAT(it->read().others, Optional(testing::DoubleEq(0.4)));
  EXPECT_THAT(it->read().others, Optional(0.0)) << "no new samples";
  driver.processes.push_back({1, 30, 80});
  driver.processes.push_back({own, 30, 80});
  EXPECT_THAT(it->read().others, Optional(testing::DoubleEq(0.8)));
  driver.processes.push_back({1, 40, 4'000'000'000U});
  driver.processes.push_back({2, 40, 70});
  driver.processes.push_back({own, 40, 10});
  EXPECT_THAT(it->read().others, Optional(1.0)) << "at most all of it";
}

TEST(GpuMonitor, TheShareOfItsSpeedIsTheClockTimesWhatOthersLeave) {
  EXPECT_THAT(speed_share({.clock = 0.5, .others = 0.2}), Optional(testing::DoubleEq(0.4)));
  EXPECT_THAT(speed_share({.clock = 0.5}), Optional(0.5));
  EXPECT_THAT(speed_share({.others = 1}), Optional(0.0));
  EXPECT_EQ(speed_share({.temperature = 60}), std::nullopt);
}

TEST(GpuMonitor, DoesNotTakeItsOwnUseForThatOfOthers) {
  driver = {.starts = success};
  const auto it = monitor();
  driver.processes = {{99, 10, 90}};  // in a container the driver reports another number for this process
  EXPECT_EQ(it->read().others, std::nullopt);
}

TEST(GpuMonitor, LeavesOutWhatADriverDoesNotKnow) {
  driver = {.starts = success, .mhz = 0, .knows_processes = not_supported};
  EXPECT_EQ(monitor()->read().clock, std::nullopt);
  EXPECT_EQ(monitor()->read().others, std::nullopt);
  NvmlCalls old = calls();
  old.clock = old.most_clock = nullptr, old.temperature = nullptr, old.processes = nullptr;
  const GpuCondition it = GpuMonitor::open(old, "0000:65:00.0", own)->read();
  EXPECT_EQ(it.clock, std::nullopt);
  EXPECT_EQ(it.temperature, std::nullopt);
  EXPECT_EQ(it.others, std::nullopt);
  EXPECT_THAT(it.memory_free, Optional(600U));
}

TEST(GpuMonitor, IsNullForAnUnknownGpu) {
  driver = {.starts = success};
  EXPECT_EQ(GpuMonitor::open(calls(), "0000:01:00.0", own), nullptr);
  EXPECT_EQ(GpuMonitor::open(calls(), "", own), nullptr);
  EXPECT_EQ(driver.users, 0);
  driver = {};
  EXPECT_EQ(monitor(), nullptr) << "no driver";
}

}  // namespace
}  // namespace steelyard::nn::nvml_test
