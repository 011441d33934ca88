#include <exception>
#include <memory>

#include "config/prepare_job.h"
#include "core/device.h"
#include "core/error.h"
#include "core/precision.h"
#include "roles/endpoint.h"
#include "roles/external_model.h"
#include "roles/narrator.h"
#include "roles/roles.h"
#include "roles/signals.h"
#include "wire/name.h"
#include "wire/transport/host.h"
#include "wire/transport/zmq.h"
#include "worker/compute/node.h"
#include "worker/compute/thread_count.h"
#include "worker/worker.h"

namespace steelyard {
namespace {

// The job as this worker runs it: its own paths to the data, everything else the scheduler's.
Job localised(Job job, const std::vector<std::string>& data_options) {
  for (const std::string& option : data_options) {
    const std::size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw Failure(ExitCode::usage,
                    "--data " + option + " is not KEY=VALUE, as in --data dir=/data/fashion");
    }
    job.data_options[option.substr(0, equals)] = option.substr(equals + 1);
  }
  return job;
}

Workload own_workload(const WorkerOptions& options, const Job& job, const Extensions& extensions,
                      const Device& device) {
  return workload_of(localised(job, options.data_options), extensions,
                     {.device = device,
                      .threads = thread_count(options.spec.threads),
                      .precision = precision(options.spec.precision)});
}

Hello hello_of(const WorkerSpec& spec, const Device& device, std::uint64_t fingerprint) {
  Hello hello;
  hello.fingerprint = fingerprint;
  hello.name = spec.name;
  hello.kind = kind(device);
  hello.max_batch = spec.max_batch;
  return hello;
}

}  // namespace

int run_worker(const WorkerOptions& options, const Extensions& given) {
  Extensions extensions = given;
  WorkerSpec spec = options.spec;
  if (spec.name.empty()) spec.name = default_name("worker");
  check_name("--name", spec.name);
  const Device device = device_of(spec);
  const Throttle throttle = Throttle::parse(spec.slow, spec.cpu);
  raise_descriptor_limit();
  block_signals();
  const std::string scheduler = complete_endpoint(options.scheduler);
  const NodeId self = new_node(Role::worker);
  ZmqContext context;
  const Memory memory = memory_for(options.exchange);
  ZmqLink link(context, self, memory);
  std::unique_ptr<ComputeNode> compute;
  Job job;

  Worker::Options of_worker{self, {}, {from_seconds(options.wait), from_seconds(0.25)}, {}};
  of_worker.hello = hello_of(spec, device, options.fingerprint);
  of_worker.prepare = [&](const Welcome& welcome) {
    job = welcome.job;
    require_descriptors("a worker with " + std::to_string(job.shards) + " shards", job.shards, 0);
    compute = std::make_unique<ComputeNode>(
        posting_to(link, self), own_workload(options, job, extensions, device), job, throttle, memory);
  };
  if (extensions.workload) {
    of_worker.model = [&] {  // made once, told and trained
      const Workload own = extensions.workload();
      extensions.workload = [own] { return own; };
      return model_to_tell(own);
    };
  }
  Worker worker(std::move(of_worker));
  const SignalWatch signals(
      [&](int) {
        link.post({{link_node, self, Message(std::in_place_type<ToWorker>, Interrupt{})}});
      },
      {"leaving the job; the others go on with what this worker owes", {}});
  const auto say = speaker("worker", spec.name, options.quiet);
  say("looking for the scheduler at " + scheduler);
  Narrator narrator(link, spec.name, name(device), say);
  link.on_exchange([&](NodeId shard, bool lent) { narrator.exchange(shard, lent); });
  link.connect(scheduler_node, scheduler);
  try {
    within_memory("a worker", job, [&] {
      host(worker, self, narrator, [&](const Envelope& envelope) {
        const auto* message = std::get_if<ToCompute>(&envelope.message);
        if (compute && message != nullptr) compute->give(*message);
      });
    });
  } catch (const std::exception& trouble) {
    // Another one would fail the same way: the scheduler ends the job, unless others can do without this one.
    link.send({self, scheduler_node, Message(std::in_place_type<ToScheduler>, Leave{trouble.what()})});
    throw;
  }
  if (compute && compute->failure()) throw Failure(*compute->failure());  // which the worker has told
  narrator.over(worker.exit_reason());
  return verdict("worker", worker.exit_reason(), options.scheduler);
}

}  // namespace steelyard
