#include "app/render/member_command.h"

#include "app/config/worker_keys.h"
#include "core/device_name.h"

namespace steelyard {
namespace {

// What differs from a usual worker, as --set. Of a job file the workers are in its text.
std::vector<std::string> worker_settings(const WorkerSpec& worker, const std::string& name) {
  WorkerSpec given = worker, usual;
  usual.device = automatic_device;
  const std::vector<Key> keys = worker_keys(given), defaults = worker_keys(usual);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].name == "name" || value_text(keys[i]) == value_text(defaults[i])) continue;
    words.push_back("--set=worker." + name + "." + keys[i].name + "=" + value_text(keys[i]));
  }
  return words;
}

}  // namespace

std::vector<std::string> member_arguments(const RenderedJob& job, const HostSpec& host,
                                          const MemberPlaces& places) {
  std::vector<std::string> words{"member"};
  const auto add = [&](const char* option, const std::string& value) {
    words.push_back(option + ("=" + value));
  };
  if (host.scheduler) add("--role", "scheduler");
  if (host.servers > 0) add("--role", "server");
  if (!host.workers.empty()) add("--role", "worker");
  add("--rank", places.rank);
  add("--size", std::to_string(machines_in(job.hosts)));
  add("--workers", std::to_string(workers_in(job.hosts)));
  add("--meet", places.meet);
  add("--keys", places.keys);
  add("--run-dir", places.run);
  add("--grace", std::to_string(job.grace_s));
  if (job.is_script()) {
    for (const std::string& setting : job.settings) add("--set", setting);
    add("--set", "cluster.servers=" + std::to_string(servers_in(job.hosts)));
    if (!host.workers.empty()) {
      const auto own = worker_settings(host.workers.front().spec, "worker-" + places.rank);
      words.insert(words.end(), own.begin(), own.end());
    }
  }
  words.push_back(places.job);
  words.insert(words.end(), job.arguments.begin(), job.arguments.end());
  return words;
}

}  // namespace steelyard
