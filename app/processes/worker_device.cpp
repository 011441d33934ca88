#include "app/config/choices.h"

#include "app/processes/processes.h"
#include "core/error.h"
#include "core/processor.h"
#include "worker/compute/device_choice.h"

namespace steelyard {

Device device_of(const WorkerSpec& worker) {
  try {
    const Device device = device_here(worker.device);
    std::string trouble = device_trouble(worker, device);
    if (trouble.empty()) trouble = processor_trouble(worker, device, cpu_has_bf16());
    if (!trouble.empty()) throw Failure(ExitCode::configuration, trouble);
    return device;
  } catch (const Failure& failure) {
    throw Failure(failure.code(), "worker '" + worker.name + "': " + failure.what());
  }
}

}  // namespace steelyard
