#include "app/tools/devices_command.h"

#include <cstdio>
#include <vector>

#include "app/tools/device_table.h"
#include "core/error.h"
#include "core/level.h"
#include "core/processor.h"
#include "nn/cuda_devices.h"
#include "app/report/output_file.h"
#include "worker/compute/cpu_speed.h"

namespace steelyard {
namespace {

DeviceLine processor_line() {
  const unsigned cores = allowed_cores();
  return {.device = {},
          .name = processor_name(),
          .what = std::to_string(cores) + (cores == 1 ? " core" : " cores") + ", kernels for " +
                  name(cpu_level()) + (cpu_has_bf16() ? ", bf16" : ""),
          .speed = measure_cpu(cores)};
}

DeviceLine cuda_line(const nn::CudaDevice& it, unsigned number) {
  DeviceLine line{.device = {Device::Type::cuda, number},
                  .name = it.name,
                  .what = "compute " + std::to_string(it.major) + "." + std::to_string(it.minor),
                  .memory_bytes = it.memory_bytes,
                  .speed = nn::measure_cuda(number)};
  if (it.state) {
    line.free_bytes = it.state->memory_free();
    line.utilization = it.state->utilization;
  }
  return line;
}

}  // namespace

int run_devices(const DevicesCommand& command) {
  check_output("--json", command.json);
  // How busy they are is asked before they are measured.
  const std::vector<nn::CudaDevice> found = nn::cuda_devices();
  std::vector<DeviceLine> lines{processor_line()};
  for (unsigned i = 0; i < found.size(); ++i) lines.push_back(cuda_line(found[i], i));
  if (!command.json.empty()) write_output("--json", command.json, devices_json(lines));
  if (command.json != "-") std::fputs(devices_table(lines, nn::built_with_cuda()).c_str(), stdout);
  return static_cast<int>(ExitCode::ok);
}

}  // namespace steelyard
