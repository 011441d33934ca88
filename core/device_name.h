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

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_kind.h"

namespace steelyard {

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
