#include "nn/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace steelyard::nn {
namespace {

constexpr int success = 0;

template <class Function>
bool find(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  return function != nullptr;
}

std::optional<GpuState> state_of(const NvmlCalls& nvml, const std::string& bus) {
  void* device = nullptr;
  NvmlMemory memory;
  std::array<char, 96> name{};  // NVML_DEVICE_NAME_V2_BUFFER_SIZE
  if (bus.empty() || nvml.by_bus(bus.c_str(), &device) != success ||
      nvml.memory(device, &memory) != success || nvml.name(device, name.data(), name.size()) != success) {
    return std::nullopt;
  }
  name.back() = '\0';
  GpuState state{name.data(), memory.total, std::min(memory.used, memory.total), {}};
  NvmlUtilization utilization;
  if (nvml.utilization(device, &utilization) == success)
    state.utilization = static_cast<double>(std::min(utilization.gpu, 100U)) / 100;
  return state;
}

}  // namespace

std::optional<NvmlCalls> load_nvml(const char* library) {
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return std::nullopt;
  NvmlCalls calls;
  if (find(opened, "nvmlInit_v2", calls.init) && find(opened, "nvmlShutdown", calls.shutdown) &&
      find(opened, "nvmlDeviceGetHandleByPciBusId_v2", calls.by_bus) &&
      find(opened, "nvmlDeviceGetName", calls.name) &&
      find(opened, "nvmlDeviceGetMemoryInfo", calls.memory) &&
      find(opened, "nvmlDeviceGetUtilizationRates", calls.utilization)) {
    return calls;
  }
  dlclose(opened);
  return std::nullopt;
}

std::vector<std::optional<GpuState>> gpu_states(const NvmlCalls& nvml,
                                                const std::vector<std::string>& buses) {
  std::vector<std::optional<GpuState>> states(buses.size());
  if (nvml.init() != success) return states;
  std::ranges::transform(buses, states.begin(), [&](const std::string& bus) { return state_of(nvml, bus); });
  nvml.shutdown();
  return states;
}

}  // namespace steelyard::nn
