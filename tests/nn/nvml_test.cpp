#include "nn/nvml.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

namespace steelyard::nn::nvml_test {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

constexpr int success = 0, not_supported = 3, not_found = 6, no_driver = 9;  // nvmlReturn_t

// A driver with one GPU, at address "0000:65:00.0".
struct Driver {
  int users = 0, starts = no_driver, knows_utilization = success;
  unsigned percent = 35;
  NvmlMemory memory{1000, 600, 400};
  std::string name = "Some Card";
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

}  // namespace
}  // namespace steelyard::nn::nvml_test
