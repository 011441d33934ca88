// `steelyard devices`: lists the devices that workers can use on this machine, and measures their speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device_name.h"
#include "nn/device_speed.h"

namespace steelyard {

// One device in the table. Pure.
struct DeviceLine {
  Device device{};
  std::string name, what;  // "NVIDIA H200", "compute 9.0"
  std::optional<std::uint64_t> memory_bytes{}, free_bytes{};
  std::optional<double> utilization{};     // 0..1, by all processes, before the measurement
  std::optional<nn::DeviceSpeed> speed{};  // std::nullopt: not measured
};

std::string devices_table(const std::vector<DeviceLine>& lines, bool built_with_cuda, std::size_t width = 0);
std::string devices_json(const std::vector<DeviceLine>& lines);  // unknown values are null

struct DevicesCommand {
  std::string json;  // a file, or - for standard output; empty: none
};

void run_devices(const DevicesCommand& command);

}  // namespace steelyard
