#include <utility>

#include "app/config/prepare_job.h"
#include "app/config/registry.h"
#include "app/processes/endpoint.h"
#include "app/processes/initial_state.h"
#include "app/processes/processes.h"
#include "app/processes/signals.h"
#include "app/processes/worker_session.h"
#include "core/device_name.h"
#include "core/error.h"
#include "protocol/node.h"
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
                           .max_batch = options.spec.max_batch});
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
  WorkerSession session(std::move(setup));
  const SignalWatch signals([&](int) { session.leave(); },
                            {"leaving the job; other workers take over its pieces", {}});
  return verdict("worker", session.run(), options.scheduler);
}

}  // namespace steelyard
