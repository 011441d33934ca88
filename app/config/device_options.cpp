#include "app/config/device_options.h"

#include "core/precision.h"
#include "worker/compute/throttle.h"

namespace steelyard {

std::vector<WorkerSpec> each_worker(const WorkerSpec& spec) {
  const std::vector<std::string> devices = each_device(spec.device);
  if (devices.size() == 1) {
    WorkerSpec only = spec;
    only.device = devices.front();
    return {only};
  }
  std::vector<WorkerSpec> each;
  for (const std::string& device : devices) {
    each.push_back(spec);
    each.back().name += "-" + std::to_string(device_in(device)->number);
    each.back().device = device;
  }
  return each;
}

std::string device_trouble(const WorkerSpec& spec, const Device& device) {
  if (kind(device) == DeviceKind::gpu && !Throttle::parse("1", spec.cpu).cpu.is_always(1)) {
    return "cpu = \"" + spec.cpu + "\" is the share of a processor, and this worker computes on " +
           name(device) + ": slow it down with slow, or give it device = \"cpu\"";
  }
  if (device.type == Device::Type::cpu && spec.precision == name(Precision::tf32)) {
    return "precision = \"" + spec.precision +
           "\" is for CUDA devices, and this worker computes on the processor: choose \"float32\" or "
           "\"bf16\", or give it a device as in device = \"cuda:0\"";
  }
  return {};
}

std::string device_trouble(const WorkerSpec& spec) {
  const auto device = device_in(each_device(spec.device).front());
  return device ? device_trouble(spec, *device) : std::string();
}

}  // namespace steelyard
