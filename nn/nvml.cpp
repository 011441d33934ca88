#include "nn/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>

namespace steelyard::nn {
namespace {

constexpr int success = 0, too_small = 7;    // NVML_ERROR_INSUFFICIENT_SIZE
constexpr int clock_of_multiprocessors = 1;  // NVML_CLOCK_SM
constexpr int sensor_of_chip = 0;            // NVML_TEMPERATURE_GPU
constexpr unsigned most_samples = 1 << 16;

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
    find(opened, "nvmlDeviceGetClockInfo", calls.clock);
    find(opened, "nvmlDeviceGetMaxClockInfo", calls.most_clock);
    find(opened, "nvmlDeviceGetTemperature", calls.temperature);
    find(opened, "nvmlDeviceGetProcessUtilization", calls.processes);
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

std::unique_ptr<GpuMonitor> GpuMonitor::open(const NvmlCalls& nvml, const std::string& bus, unsigned own) {
  void* device = nullptr;
  if (bus.empty() || nvml.init() != success) return nullptr;
  if (nvml.by_bus(bus.c_str(), &device) == success)
    return std::unique_ptr<GpuMonitor>(new GpuMonitor(nvml, device, own));
  nvml.shutdown();
  return nullptr;
}

GpuMonitor::~GpuMonitor() { nvml_.shutdown(); }

GpuCondition GpuMonitor::read() {
  GpuCondition it;
  unsigned now = 0, most = 0, celsius = 0;
  if (nvml_.clock && nvml_.most_clock && nvml_.clock(device_, clock_of_multiprocessors, &now) == success &&
      nvml_.most_clock(device_, clock_of_multiprocessors, &most) == success && now > 0 && most > 0) {
    it.clock = std::min(static_cast<double>(now) / most, 1.0);
  }
  if (nvml_.temperature && nvml_.temperature(device_, sensor_of_chip, &celsius) == success)
    it.temperature = celsius;
  NvmlMemory memory;
  if (nvml_.memory(device_, &memory) == success)
    it.memory_free = memory.total - std::min(memory.used, memory.total);
  it.others = used_by_others();
  return it;
}

// The sum over other processes of the mean of their samples. In a container the driver reports the host's
// numbers of processes, and this one is not among them: its own use cannot be separated from that of others,
// so nothing is returned.
std::optional<double> GpuMonitor::used_by_others() {
  if (!nvml_.processes) return std::nullopt;
  unsigned count = 0;
  const int code = nvml_.processes(device_, nullptr, &count, seen_);
  if (code != success && code != too_small) return std::nullopt;
  if (count == 0) return 0;
  std::vector<NvmlProcessUtilization> list(std::min(count, most_samples));
  count = static_cast<unsigned>(list.size());
  if (nvml_.processes(device_, list.data(), &count, seen_) != success) return std::nullopt;
  list.resize(std::min<std::size_t>(count, list.size()));
  std::map<unsigned, std::pair<double, unsigned>> by_process;  // sum of percents, and samples
  for (const NvmlProcessUtilization& sample : list) {
    seen_ = std::max(seen_, sample.time);
    auto& [sum, samples] = by_process[sample.pid];
    sum += std::min(sample.sm, 100U);
    ++samples;
  }
  if (by_process.erase(own_) == 0 && !by_process.empty()) return std::nullopt;
  double percent = 0;
  for (const auto& [pid, use] : by_process) percent += use.first / use.second;
  return std::min(percent / 100, 1.0);
}

std::optional<double> speed_share(const GpuCondition& it) {
  if (!it.clock && !it.others) return std::nullopt;
  return it.clock.value_or(1) * (1 - it.others.value_or(0));
}

}  // namespace steelyard::nn
