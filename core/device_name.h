// Device: the device that a worker computes on, written as
//
//  "cpu"        the processor
//  "cuda:1"     a CUDA device, by CUDA's number (which respects CUDA_VISIBLE_DEVICES)
//  "auto"       the CUDA device with the most free memory, or the processor if there is no CUDA device
//  "host-cuda"  the processor, running the CUDA kernels: for tests, in builds that include it
//  "cuda:0-3"   in files that describe several workers in one line: one worker on each of these devices
//
// worker/compute/device_choice.h checks whether the device exists.
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
// `name` must be one of device_kinds().
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
// `name` must be one of precision_names().
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

// Returns std::nullopt for "auto" (its device is not known yet) and for invalid text.
std::optional<Device> device_in(std::string_view text);

bool is_device(std::string_view text);  // for one worker
const std::string& device_expected();   // ends a message that begins with "give"

// A device for one worker, or a list for several: "cuda:0-3" stands for four. each_device() expands it into
// the text for each worker.
bool is_device_list(std::string_view text);
const std::string& device_list_expected();
std::vector<std::string> each_device(const std::string& text);

}  // namespace steelyard
