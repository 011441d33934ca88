// Device: what a worker computes on, of all that its machine has. As people write it:
//
//  "cpu"        the processor
//  "cuda:1"     a CUDA device, by the number that CUDA gives it (CUDA_VISIBLE_DEVICES counts)
//  "auto"       the CUDA device with the most free memory if there is one, and the processor otherwise
//  "host-cuda"  the processor, running the kernels of CUDA devices: for tests, where the build has it
//  "cuda:0-3"   in files, where one line describes several workers: one on each of these
//
// Whether it is there is worker/compute/device_choice.h's business.
#pragma once

#include <steelyard/device_kind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

inline const std::vector<std::string>& device_kinds() {  // in the order of the enumerators
  static const std::vector<std::string> names{"cpu", "gpu"};
  return names;
}
inline const std::string& name(DeviceKind kind) { return device_kinds()[static_cast<std::size_t>(kind)]; }
// Of a name that is one of them.
inline DeviceKind device_kind(std::string_view name) {
  return name == device_kinds()[0] ? DeviceKind::cpu : DeviceKind::gpu;
}

inline const std::vector<std::string>& precision_names() {  // in the order of the enumerators
  static const std::vector<std::string> names{"float32", "bf16", "tf32"};
  return names;
}
inline const std::string& name(Precision precision) {
  return precision_names()[static_cast<std::size_t>(precision)];
}
// Of a name that is one of them.
inline Precision precision(std::string_view name) {
  return static_cast<Precision>(std::ranges::find(precision_names(), name) - precision_names().begin());
}

struct Device {
  enum class Type : std::uint8_t { cpu, cuda, host_cuda };
  Type type = Type::cpu;
  unsigned number = 0;  // of a CUDA device

  friend bool operator==(const Device&, const Device&) = default;
};

inline constexpr char automatic_device[] = "auto";

std::string name(const Device& device);  // "cpu", "cuda:1", "host-cuda"
DeviceKind kind(const Device& device);

// None for "auto", whose device is not known yet, and for what is no device.
std::optional<Device> device_in(std::string_view text);

bool is_device(std::string_view text);  // of one worker
const std::string& device_expected();   // ends a message that begins with "give"

// Of one worker, or of several: "cuda:0-3" stands for four. Each of them, as it is written for one worker.
bool is_device_list(std::string_view text);
const std::string& device_list_expected();
std::vector<std::string> each_device(const std::string& text);

}  // namespace steelyard
