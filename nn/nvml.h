// NVML, the management library of NVIDIA's driver: how busy a GPU is, and how much of its memory is free,
// without a CUDA context, which would take memory itself. It is opened while the program runs, so a build
// needs none of it, and a machine without a driver has none: absence is no error.
//
// The functions are declared here by their documented binary interface ("NVML API Reference"); each returns 0
// where it succeeds. What a GPU does not tell (MIG devices have no utilisation of their own) is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace steelyard::nn {

struct NvmlMemory {  // nvmlMemory_t, bytes
  unsigned long long total = 0, free = 0, used = 0;
};
struct NvmlUtilization {  // nvmlUtilization_t, percent of the last moment's time
  unsigned gpu = 0, memory = 0;
};

struct NvmlCalls {
  int (*init)() = nullptr;                                          // nvmlInit_v2
  int (*shutdown)() = nullptr;                                      // nvmlShutdown
  int (*by_bus)(const char* bus, void** device) = nullptr;          // nvmlDeviceGetHandleByPciBusId_v2
  int (*name)(void* device, char* name, unsigned size) = nullptr;   // nvmlDeviceGetName
  int (*memory)(void* device, NvmlMemory* memory) = nullptr;        // nvmlDeviceGetMemoryInfo
  int (*utilization)(void* device, NvmlUtilization* it) = nullptr;  // nvmlDeviceGetUtilizationRates
};

// The calls of a library that is there with all of them. It stays open.
std::optional<NvmlCalls> load_nvml(const char* library = "libnvidia-ml.so.1");

struct GpuState {
  std::string name;
  std::uint64_t memory_total = 0, memory_used = 0;  // bytes, of all processes
  std::optional<double> utilization;                // 0..1, of all processes
  [[nodiscard]] std::uint64_t memory_free() const { return memory_total - memory_used; }
};

// Of each PCI address ("0000:65:00.0"); nothing where NVML does not know it. CUDA numbers devices otherwise
// than NVML does, and both call them by their addresses.
std::vector<std::optional<GpuState>> gpu_states(const NvmlCalls& nvml, const std::vector<std::string>& buses);

}  // namespace steelyard::nn
