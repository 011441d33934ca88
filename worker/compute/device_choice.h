// The device that a worker was told to compute on (core/device_name.h), looked for on this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/device_name.h"
#include "nn/cuda_devices.h"

namespace steelyard {

// How many threads a worker computes with on a CPU, as it is written: a number, or "auto" for as many as
// there are cores that the process may run on (core/processor.h). "auto-2" leaves two of them to others, such
// as workers on GPUs, which keep a core busy each; one is always left to compute with.
bool is_thread_count(std::string_view text);
const std::string& thread_count_expected();  // ends a message that begins with "give"
// "auto" of a worker beside so many others that need a core each: "auto-2". Any other text stays as it is.
std::string thread_count_beside(const std::string& text, unsigned others);
// At least 1. "auto" is looked up in the process that calls. Throws Failure (configuration).
unsigned thread_count(const std::string& text);

// What workers can compute on here, beside the processor.
struct DevicesHere {
  bool cuda = false, host_cuda = false;  // what this build has
  std::vector<nn::CudaDevice> devices{};
};

// `text` is a device, "auto" or one by name. Throws Failure (configuration) that says what there is instead.
Device find_device(const std::string& text, const DevicesHere& here);
// The same on this machine. CUDA is asked only where `text` may mean one of its devices.
Device device_here(const std::string& text);

}  // namespace steelyard
