#include "app/processes/process_keys.h"

#include <algorithm>

#include "app/web/place.h"
#include "core/check.h"
#include "core/device_name.h"
#include "core/error.h"

namespace steelyard {
namespace {

// Returns what is wrong with a value of `web`; empty if it is valid.
std::string complaint_about_web(std::string_view text) {
  try {
    web_place(std::string(text));
    return {};
  } catch (const Failure& failure) {
    return failure.what();
  }
}

Limits place_for_web() {
  Limits limits = Limits::text([](std::string_view text) { return complaint_about_web(text).empty(); },
                               web_place_expected, false);
  limits.complaint = complaint_about_web;
  return limits;
}

Key scheduler_key(std::string& scheduler) {
  return Key{"scheduler", &scheduler, Limits::any(),
             "the scheduler's endpoint; if it has a standby, both endpoints, separated by a comma"}
      .also({.description = true, .environment = true, .required = true});
}
Key keys_key(std::string& keys) {
  return Key{"keys", &keys, Limits::any(),
             "a directory of keys (`steelyard keys`): connections are encrypted, and only processes with a "
             "key on its list may join"}
      .also({.description = true, .of_scripts = true});
}
Key trace_key(std::string& trace) {
  return Key{"trace", &trace, Limits::any(),
             "write a trace of this process into this directory, for `steelyard trace`"}
      .also({.description = true, .of_scripts = true});
}
Key wait_key(double& wait) {
  return Key{"wait", &wait, Limits::wide(0, 1e6),
             "seconds to wait for the scheduler, at the start and whenever it is silent"}
      .also({.description = true});
}
Key quiet_key(bool& quiet, const std::string& help = "print only warnings and errors") {
  return Key{"quiet", &quiet, Limits::any(), help}.also({.description = true, .short_option = "-q"});
}
Key insecure_key(bool& insecure) {
  return {"insecure", &insecure, Limits::any(), "allow plain-text connections from other machines"};
}
Key listen_key(std::string& listen, const std::string& help) {
  return Key{"listen", &listen, Limits::any(), help}.also({.environment = true});
}
Key name_key(std::string& name, const std::string& help) {
  return Key{"name", &name, Limits::any(), help}.also({.description = true, .environment = true});
}

constexpr const char* only_the_summary = "no progress, only the summary";

Key& find(std::vector<Key>& keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &Key::name);
  CHECK(found != keys.end(), "a worker has no such key");
  return *found;
}

// The worker keys of a job file, for one process: a single device, and a default name.
std::vector<Key> one_worker(WorkerSpec& spec) {
  std::vector<Key> keys = worker_keys(spec);
  find(keys, "name") =
      name_key(spec.name, "its name, unique among the workers (default: made from host and process)");
  Key& device = find(keys, "device");
  device.limits = Limits::text(is_device, device_expected());
  device.help = "the device that computes";
  return keys;
}

}  // namespace

Key exchange_key(std::string& exchange) {
  return Key{"exchange", &exchange, Limits::one_of(exchanges),
             "how processes of one host and user exchange values: auto (shared memory if it works) or "
             "sockets"}
      .also({.description = true, .of_scripts = true});
}

std::vector<Key> computing_keys(WorkerSpec& spec) {
  std::vector<Key> all = one_worker(spec), some;
  for (const char* name : {"device", "threads", "precision", "recompute"})
    some.push_back(std::move(find(all, name)));
  return some;
}

std::vector<Key> result_keys(ResultOptions& it, const std::string& where) {
  return {
      {"run_dir", &it.directory, Limits::any(),
       where + "directory for the results (default: runs/NAME-N, a new one each time)"},
      {"resume", &it.resume, Limits::any(), "continue from the newest checkpoint in --run-dir"},
      {"resume_from", &it.resume_from, Limits::any(), where + "continue from this checkpoint directory"},
      {"tensorboard", &it.tensorboard, Limits::any(),
       "also write each round's numbers for TensorBoard: tensorboard --logdir runs"},
      {"rotate_mb", &it.rotate_mb, Limits::at_least(0),
       where + "megabytes after which rounds.jsonl becomes rounds.1.jsonl, then rounds.2.jsonl and so on; 0: "
               "never"},
      {"web", &it.web, place_for_web(),
       where + "serve the run to browsers while it trains, and to Prometheus at /metrics: " +
           web_place_expected + " (port 0: any)"},
  };
}

std::vector<Key> process_keys(SchedulerOptions& it) {
  const Key::Elsewhere internal{.in_help = false};
  return joined({{listen_key(it.listen, "the endpoint for servers and workers (port *: any free port)"),
                  keys_key(it.keys)},
                 result_keys(it.results, ""),
                 {trace_key(it.trace),
                  {"recover", &it.recover, Limits::any(),
                   "continue the job in --run-dir after its scheduler was killed"},
                  Key{"run_dir_ready", &it.results.ready, Limits::any(), ""}.also(internal),
                  Key{"run_dir_lock", &it.results.lock, Limits::at_least(-1), ""}.also(internal),
                  quiet_key(it.quiet, only_the_summary),
                  insecure_key(it.insecure)}});
}

std::vector<Key> process_keys(StandbyOptions& it) {
  return {scheduler_key(it.scheduler),
          listen_key(it.lead.listen, "the endpoint for servers and workers once it leads"),
          keys_key(it.lead.keys),
          {"run_dir", &it.lead.results.directory, Limits::any(),
           "directory for the run's results once it leads (default: runs/NAME-N)"},
          {"web", &it.lead.results.web, place_for_web(),
           std::string("once it leads, serve the run to browsers and to Prometheus: ") + web_place_expected},
          wait_key(it.wait),
          quiet_key(it.lead.quiet, only_the_summary),
          insecure_key(it.lead.insecure)};
}

std::vector<Key> process_keys(ServerOptions& it) {
  return {scheduler_key(it.scheduler),
          name_key(it.name, "its name (default: made from host and process)"),
          listen_key(it.listen, "the endpoint for workers"),
          {"advertise", &it.advertise, Limits::any(),
           "the host name or address at which workers reach this server"},
          keys_key(it.keys),
          {"shards", &it.shards, Limits::at_least(1, 64), "threads, each holding a part of the model"},
          {"mirrors", &it.mirrors, Limits::at_least(0, 64),
           "further threads, each mirroring a shard of another server (cluster.replicas)"},
          exchange_key(it.exchange),
          wait_key(it.wait),
          trace_key(it.trace),
          quiet_key(it.quiet),
          insecure_key(it.insecure)};
}

std::vector<Key> process_keys(WorkerOptions& it) {
  return joined({{scheduler_key(it.scheduler)},
                 one_worker(it.spec),
                 {keys_key(it.keys),
                  exchange_key(it.exchange),
                  wait_key(it.wait),
                  trace_key(it.trace),
                  quiet_key(it.quiet),
                  {"shards", &it.shards, Limits::at_least(0, 64),
                   "parts of the model that it keeps on its GPU; 0: servers keep the model; 1 in jobs with "
                   "servers = \"workers\""},
                  {"listen", &it.listen, Limits::any(), "with --shards: the endpoint for other workers"},
                  {"advertise", &it.advertise, Limits::any(),
                   "with --shards: the host name or address at which other workers reach this one"},
                  insecure_key(it.insecure),
                  {"data", &it.data_options, Limits::any(),
                   "replace a data option of the job, as in dir=/data/fashion; repeatable"}}});
}

}  // namespace steelyard
