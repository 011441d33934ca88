#include "app/tools/devices_command.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/report/text_table.h"
#include "core/error.h"
#include "core/json.h"
#include "core/processor.h"
#include "nn/cuda_devices.h"
#include "worker/compute/cpu_speed.h"

namespace steelyard {
namespace {

constexpr double giga = 1e9;

std::string rounded(double value) { return std::to_string(std::llround(value)); }

std::string memory_text(const DeviceLine& line) {
  if (!line.memory_bytes) return "-";
  const auto gigabytes = [](std::uint64_t bytes) { return rounded(static_cast<double>(bytes) / giga); };
  return gigabytes(*line.memory_bytes) + " GB" +
         (line.free_bytes ? ", " + gigabytes(*line.free_bytes) + " free" : "");
}

std::vector<std::string> cells_of(const DeviceLine& line) {
  const std::string unknown = "not measured";
  return {name(line.device),
          shown_line(line.name),
          line.what,
          memory_text(line),
          line.utilization ? rounded(100 * *line.utilization) + " %" : "-",
          line.speed ? rounded(line.speed->copy_gb_s) + " GB/s" : unknown,
          line.speed ? rounded(line.speed->float32_gflop_s) + " GFLOP/s" : unknown};
}

DeviceLine processor_line() {
  const unsigned cores = allowed_cores();
  return {.device = {},
          .name = processor_name(),
          .what = count_of(cores, "core") + ", kernels for " + name(cpu_level()) +
                  (cpu_has_bf16() ? ", bf16" : ""),
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

std::string devices_table(const std::vector<DeviceLine>& lines, bool built_with_cuda, std::size_t width) {
  std::vector<std::vector<std::string>> rows{
      {"device", "name", "", "memory", "in use", "copies", "multiplies float32"}};
  for (const DeviceLine& line : lines) rows.push_back(cells_of(line));
  std::string text;
  for (const std::string& line : aligned_lines(rows, Alignment::words, width)) text += line + "\n";
  if (!built_with_cuda) {
    text += "GPUs: this program is built without CUDA (script/build cuda)\n";
  } else if (lines.size() == 1) {
    text += "GPUs: none visible to this process\n";
  }
  const std::string choice = "To choose one for a worker, set device = \"" + name(lines.back().device) +
                             "\" in its section of the job, or --device " + name(lines.back().device);
  return text + (width > 0 ? wrapped(choice, width, 2) : choice) + "\n";
}

std::string devices_json(const std::vector<DeviceLine>& lines) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  Json all = Json::array();
  for (const DeviceLine& line : lines) {
    Json one;
    one["device"] = name(line.device);
    one["name"] = line.name;
    one["what"] = line.what;
    one["memory_bytes"] = or_null(line.memory_bytes);
    one["free_bytes"] = or_null(line.free_bytes);
    one["utilization"] = or_null(line.utilization);
    one["copy_gb_s"] = line.speed ? Json(line.speed->copy_gb_s) : Json();
    one["float32_gflop_s"] = line.speed ? Json(line.speed->float32_gflop_s) : Json();
    all.push_back(one);
  }
  return dump_json(Json{{"format", 1}, {"devices", all}}, 2) + "\n";
}

void run_devices(const DevicesCommand& command) {
  check_output("--json", command.json);
  // cuda_devices() reads the utilization, so it must come before the measurements.
  const std::vector<nn::CudaDevice> found = nn::cuda_devices();
  std::vector<DeviceLine> lines{processor_line()};
  for (unsigned i = 0; i < found.size(); ++i) lines.push_back(cuda_line(found[i], i));
  if (!command.json.empty()) write_output("--json", command.json, devices_json(lines));
  if (command.json != "-")
    std::fputs(devices_table(lines, nn::built_with_cuda(), width_of_output()).c_str(), stdout);
}

}  // namespace steelyard
