#include "app/launch/core_part.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <system_error>

#include "core/cores.h"
#include "core/device_name.h"
#include "core/text.h"

namespace steelyard {
namespace {

std::optional<unsigned> fixed_threads(const WorkerSpec& worker) {
  if (worker.background || device_in(worker.device) != Device{}) return std::nullopt;
  return number_in<unsigned>(worker.threads);
}

}  // namespace

std::vector<CorePart> core_parts(const HostSpec& host) {
  std::vector<CorePart> parts;
  unsigned cores = 0;
  for (const HostWorker& worker : host.workers) {
    const std::optional<unsigned> threads = fixed_threads(worker.spec);
    if (!threads || host.workers.size() < 2) return std::vector<CorePart>(host.workers.size());
    parts.push_back({cores, cores + *threads});
    cores += *threads;
  }
  for (CorePart& part : parts) part.of = cores;
  return parts;
}

std::vector<CorePart> core_parts_of_scripts(const HostSpec& host) {
  const auto count = static_cast<unsigned>(host.workers.size());
  const auto shares_cores = [](const HostWorker& it) {
    const bool chooses = it.spec.device == automatic_device || device_in(it.spec.device) == Device{};
    return chooses && it.spec.threads == WorkerSpec().threads;
  };
  std::vector<CorePart> parts(count);
  if (count < 2 || !std::ranges::all_of(host.workers, shares_cores)) return parts;
  for (unsigned i = 0; i < count; ++i) parts[i] = {i, i + 1, count, true};
  return parts;
}

std::vector<unsigned> cores_of(const CorePart& part, bool gpu) {
  if (part.of == 0 || part.begin >= part.end || part.end > part.of || (part.equal_parts && gpu)) return {};
  const std::vector<unsigned> all = in_order_of_topology(allowed_core_numbers());
  const std::size_t unit = part.equal_parts ? all.size() / part.of : 1;
  if (unit == 0 || all.size() != unit * part.of) return {};
  const auto place = [&](unsigned i) { return all.begin() + static_cast<std::ptrdiff_t>(unit * i); };
  return {place(part.begin), place(part.end)};
}

bool has_gpu_driver() {
  std::error_code ignored;
  return std::filesystem::exists("/dev/nvidiactl", ignored) || std::filesystem::exists("/dev/kfd", ignored);
}

}  // namespace steelyard
