// NVML, the management library of NVIDIA's driver: reports utilisation, clock, temperature and free memory of
// GPUs without a CUDA context, which would take memory itself. It is loaded at run time, so builds do not
// need it; its absence on a machine without a driver is not an error.
//
// The functions are declared here by their documented binary interface ("NVML API Reference"); each returns 0
// on success. Values that a GPU does not report (MIG devices have no utilisation) are left empty.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace steelyard::nn {

struct NvmlMemory {  // nvmlMemory_t, bytes
  unsigned long long total = 0, free = 0, used = 0;
};
struct NvmlUtilization {  // nvmlUtilization_t, percent over the last sampling period
  unsigned gpu = 0, memory = 0;
};

struct NvmlProcessUtilization {  // nvmlProcessUtilizationSample_t, percent; the time is in microseconds
  unsigned pid = 0;
  unsigned long long time = 0;
  unsigned sm = 0, memory = 0, encoder = 0, decoder = 0;
};

struct NvmlCalls {
  int (*init)() = nullptr;                                          // nvmlInit_v2
  int (*shutdown)() = nullptr;                                      // nvmlShutdown
  int (*by_bus)(const char* bus, void** device) = nullptr;          // nvmlDeviceGetHandleByPciBusId_v2
  int (*name)(void* device, char* name, unsigned size) = nullptr;   // nvmlDeviceGetName
  int (*memory)(void* device, NvmlMemory* memory) = nullptr;        // nvmlDeviceGetMemoryInfo
  int (*utilization)(void* device, NvmlUtilization* it) = nullptr;  // nvmlDeviceGetUtilizationRates
  // Null if an old driver lacks them.
  int (*clock)(void* device, int type, unsigned* mhz) = nullptr;              // nvmlDeviceGetClockInfo
  int (*most_clock)(void* device, int type, unsigned* mhz) = nullptr;         // nvmlDeviceGetMaxClockInfo
  int (*temperature)(void* device, int sensor, unsigned* celsius) = nullptr;  // nvmlDeviceGetTemperature
  int (*processes)(void* device, NvmlProcessUtilization* list, unsigned* count,
                   unsigned long long since) = nullptr;  // nvmlDeviceGetProcessUtilization
};

// The functions of the library; std::nullopt if the library or one of them is missing. It stays loaded.
std::optional<NvmlCalls> load_nvml(const char* library = "libnvidia-ml.so.1");

struct GpuState {
  std::string name;
  std::uint64_t memory_total = 0, memory_used = 0;  // bytes, over all processes
  std::optional<double> utilization;                // 0..1, over all processes
  [[nodiscard]] std::uint64_t memory_free() const { return memory_total - memory_used; }
};

// For each PCI address ("0000:65:00.0"); std::nullopt if NVML does not know it. CUDA and NVML number devices
// differently, but both know their addresses.
std::vector<std::optional<GpuState>> gpu_states(const NvmlCalls& nvml, const std::vector<std::string>& buses);

// What slows a GPU down, from one reading to the next. Values that it does not report are left empty.
struct GpuCondition {
  std::optional<double> clock{};        // 0..1: clock of the multiprocessors / its maximum; lower when hot
  std::optional<double> others{};       // 0..1: use by other processes since the last reading
  std::optional<double> temperature{};  // degrees Celsius
  std::optional<std::uint64_t> memory_free{};  // bytes
};

// The part of its full speed that a process can have: the clock times what other processes leave. Empty if
// neither is known.
std::optional<double> speed_share(const GpuCondition& it);

// Reads one GPU repeatedly, and keeps the library initialized meanwhile. For one thread.
class GpuMonitor {
 public:
  // `own`: the process whose use is not that of others. Null if the library does not know the address.
  static std::unique_ptr<GpuMonitor> open(const NvmlCalls& nvml, const std::string& bus, unsigned own);
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  GpuCondition read();

 private:
  GpuMonitor(const NvmlCalls& nvml, void* device, unsigned own) : nvml_(nvml), device_(device), own_(own) {}
  std::optional<double> used_by_others();

  const NvmlCalls nvml_;
  void* const device_;
  const unsigned own_;
  unsigned long long seen_ = 0;  // time of the newest sample of use
};

}  // namespace steelyard::nn
