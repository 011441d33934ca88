// `steelyard devices`: what workers can compute on here, and how fast each is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device_name.h"
#include "nn/device_speed.h"

namespace steelyard {

// What is shown of devices. Pure.
struct DeviceLine {
  Device device{};
  std::string name, what;  // "NVIDIA H200", "compute 9.0"
  std::optional<std::uint64_t> memory_bytes{}, free_bytes{};
  std::optional<double> utilization{};     // 0..1, of all processes, before it was measured
  std::optional<nn::DeviceSpeed> speed{};  // nothing: not measured
};

std::string devices_table(const std::vector<DeviceLine>& lines, bool built_with_cuda);
std::string devices_json(const std::vector<DeviceLine>& lines);  // what is not known is null

struct DevicesCommand {
  std::string json;  // a file, or - for standard output; empty: none
};

void run_devices(const DevicesCommand& command);

}  // namespace steelyard
