#include "worker/compute/device_choice.h"

#include <algorithm>

#include "core/error.h"

namespace steelyard {
namespace {

constexpr const char* or_the_processor = ", or choose \"cpu\"";

[[noreturn]] void refuse_device(const std::string& text, const std::string& why) {
  refuse_setup("device \"" + text + "\": " + why);
}

std::uint64_t free_memory(const nn::CudaDevice& device) {
  return device.state ? device.state->memory_free() : device.memory_bytes;
}

std::string listed(const std::vector<nn::CudaDevice>& devices) {
  std::string text;
  for (unsigned i = 0; i < devices.size(); ++i) {
    text += (i == 0 ? "" : ", ") + name({Device::Type::cuda, i}) + " (" + devices[i].name + ")";
  }
  return text;
}

void require_cuda(const std::string& text, unsigned number, const DevicesHere& here) {
  if (!here.cuda) {
    refuse_device(
        text, std::string("this program is built without CUDA: use `script/build cuda`") + or_the_processor);
  }
  if (here.devices.empty()) {
    refuse_device(text,
                  std::string("this machine has no CUDA device, or its driver hides them from this process: "
                              "check nvidia-smi and CUDA_VISIBLE_DEVICES") +
                      or_the_processor);
  }
  if (number >= here.devices.size()) {
    refuse_device(text, "this machine has " + std::to_string(here.devices.size()) + " of them, " +
                            listed(here.devices) + ": choose " +
                            (here.devices.size() > 1 ? "one of these" : "that"));
  }
}

}  // namespace

Device find_device(const std::string& text, const DevicesHere& here) {
  if (text == automatic_device) {
    if (here.devices.empty()) return {};
    const auto best = std::ranges::max_element(here.devices, {}, free_memory);  // the first of equals
    return {Device::Type::cuda, static_cast<unsigned>(best - here.devices.begin())};
  }
  const auto device = device_in(text);
  if (!device) refuse_device(text, "give " + device_expected());
  if (device->type == Device::Type::cuda) require_cuda(text, device->number, here);
  if (device->type == Device::Type::host_cuda && !here.host_cuda) {
    refuse_device(text,
                  std::string("it is for tests, and this build does not include it") + or_the_processor);
  }
  return *device;
}

Device device_here(const std::string& text) {
  const auto device = device_in(text);
  const bool look = !device || device->type == Device::Type::cuda;
  return find_device(text, {.cuda = nn::built_with_cuda(),
                            .host_cuda = nn::built_with_host_cuda(),
                            .devices = look ? nn::cuda_devices() : std::vector<nn::CudaDevice>{}});
}

}  // namespace steelyard
