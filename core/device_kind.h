// What kind of device computes: policies treat them differently (CPUs are predicted, GPUs are searched).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

enum class DeviceKind : std::uint8_t { cpu, gpu };

inline const std::vector<std::string>& device_kinds() {  // in the order of the enumerators
  static const std::vector<std::string> names{"cpu", "gpu"};
  return names;
}
inline const std::string& name(DeviceKind kind) { return device_kinds()[static_cast<std::size_t>(kind)]; }
// Of a name that is one of them.
inline DeviceKind device_kind(std::string_view name) {
  return name == device_kinds()[0] ? DeviceKind::cpu : DeviceKind::gpu;
}

}  // namespace steelyard
