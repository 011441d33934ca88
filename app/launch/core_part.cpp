#include "app/launch/core_part.h"

#include <optional>

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

std::vector<unsigned> cores_of(const CorePart& part) {
  if (part.of == 0 || part.begin >= part.end || part.end > part.of) return {};
  const std::vector<unsigned> all = in_order_of_topology(allowed_core_numbers());
  if (all.size() != part.of) return {};
  return {all.begin() + part.begin, all.begin() + part.end};
}

}  // namespace steelyard
