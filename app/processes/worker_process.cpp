#include <atomic>
#include <utility>

#include "app/config/prepare_job.h"
#include "app/config/registry.h"
#include "app/processes/endpoint.h"
#include "app/processes/initial_state.h"
#include "app/processes/processes.h"
#include "app/processes/seats.h"
#include "app/processes/signals.h"
#include "app/processes/worker_session.h"
#include "core/device_name.h"
#include "core/error.h"
#include "protocol/node.h"
#include "worker/compute/engines.h"
#include "worker/compute/thread_count.h"

namespace steelyard {
namespace {

Hello hello_of(const WorkerSpec& spec, const Device& device, std::uint64_t fingerprint) {
  Hello hello;
  hello.fingerprint = fingerprint;
  hello.name = spec.name;
  hello.kind = kind(device);
  hello.max_batch = spec.max_batch;
  return hello;
}

ServerOptions hosted(const WorkerOptions& options, const std::string& name, const Device& device) {
  if (kind(device) != DeviceKind::gpu)
    throw Failure(ExitCode::usage,
                  "--shards: worker '" + name + "' computes on " + steelyard::name(device) +
                      ", and only a GPU hosts shards: give --device cuda:0, or leave it out");
  require_loopback(listening_endpoint(options.listen), options.insecure || !options.keys.empty());
  ServerOptions server;
  server.scheduler = options.scheduler;
  server.name = name;
  server.listen = options.listen;
  server.advertise = options.advertise;
  server.shards = options.shards;
  server.exchange = options.exchange;
  server.wait = options.wait;
  server.trace = options.trace;
  server.fingerprint = options.fingerprint;
  server.quiet = options.quiet;
  return server;
}

// The shards act as a server, with a key of this role: their process has a key pair for each of its roles.
// That of the worker is read after it, and then the memory of the process is closed if it lends none.
std::unique_ptr<Trust> trust_of_shards(const std::string& keys, const std::string& worker) try {
  return trust_for(keys, KeyRole::server, worker + "-server", true);
} catch (const Failure& failure) {
  throw Failure(failure.code(),
                "--shards: the shards of worker '" + worker +
                    "' need the key of a server beside that of the worker: " + failure.what());
}

// The worker's failure is reported, not one of the shards that follows from it.
void end_after_failure(Seats& seats) {
  seats.interrupt();
  try {
    (void)seats.join();
  } catch (const Failure&) {  // see above
  }
}

// The worker and the shards end together: without either, the job cannot continue.
int run_with_shards(const WorkerOptions& options, const Device& device, WorkerSession::Setup setup) {
  const ServerOptions server = hosted(options, setup.hello.name, device);
  const Memory memory = memory_for(options.exchange);
  setup.links = std::make_shared<SameProcess>();
  if (memory == Memory::shared) setup.devices = make_device_exchange(device);
  ZmqContext context(1, trust_of_shards(options.keys, setup.hello.name));
  Seats seats(context, server, nullptr, [&] { return make_device_arithmetic(device, memory); });
  seats.pass_within(setup.links);
  seats.lend_from(setup.devices);
  WorkerSession session(std::move(setup));
  seats.on_failure = [&](const Failure& failure) { session.leave(failure.what()); };
  std::atomic<bool> without_shards = false;
  seats.on_unjoined = [&] {
    without_shards = true;
    session.leave();
  };
  const SignalWatch signals(
      [&](int) { seats.interrupt(); },
      {"asking the scheduler to save and to end the job; Ctrl-C again exits immediately",
       [] { return "the job cannot continue without this part of the model"; }});
  int code = 0;
  try {
    seats.start();
    code = verdict("worker", session.run(), options.scheduler);
  } catch (...) {
    end_after_failure(seats);
    throw;
  }
  seats.interrupt();
  const int its = seats.join();
  return without_shards ? its : std::max(code, its);  // then why the shards ended is the reason
}

}  // namespace

Workload workload_of(const WorkerOptions& options, const Job& job, const Device& device) {
  Job own = job;
  for (const std::string& option : options.data_options) {
    const std::size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw Failure(ExitCode::usage, "--data " + option + ": give KEY=VALUE, as in --data dir=/data/fashion");
    }
    own.data_options[option.substr(0, equals)] = option.substr(equals + 1);
  }
  return workload_of(own, {.device = device,
                           .threads = thread_count(options.spec.threads),
                           .precision = precision(options.spec.precision),
                           .max_batch = options.spec.max_batch,
                           .reserved = device_memory_for_shards(job, options.shards),
                           .recompute = options.spec.recompute});
}

int run_worker(const WorkerOptions& options) {
  WorkerSpec spec = options.spec;
  if (spec.name.empty()) spec.name = default_name("worker");
  check_name("--name", spec.name);
  const Device device = device_of(spec);
  raise_descriptor_limit();
  block_signals();
  std::optional<Workload> external;  // made once: its model is sent to the scheduler, and trained here
  WorkerSession::Setup setup;
  setup.options = options;
  setup.hello = hello_of(spec, device, options.fingerprint);
  setup.device = name(device);
  setup.workload = [&](const Welcome& welcome) {
    return external ? *external : workload_of(options, welcome.job, device);
  };
  if (registry().workload) {
    setup.model = [&] {
      external = registry().workload();
      return model_to_tell(*external);
    };
  }
  if (options.shards > 0) return run_with_shards(options, device, std::move(setup));
  WorkerSession session(std::move(setup));
  const SignalWatch signals([&](int) { session.leave(); },
                            {"leaving the job; other workers take over its pieces", {}});
  return verdict("worker", session.run(), options.scheduler);
}

}  // namespace steelyard
