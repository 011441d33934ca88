#include "app/processes/worker_session.h"

#include <exception>
#include <future>
#include <optional>
#include <utility>

#include "app/processes/endpoint.h"
#include "app/processes/processes.h"
#include "app/processes/status_logger.h"
#include "app/processes/traced_link.h"
#include "transport/host.h"
#include "worker/compute/polite.h"
#include "worker/compute/thread_count.h"

namespace steelyard {

WorkerSession::WorkerSession(Setup setup)
    : setup_(std::move(setup)),
      self_(new_node(Role::worker)),
      memory_(memory_for(setup_.options.exchange)),
      context_(1,
               trust_for(setup_.options.keys, KeyRole::worker, setup_.hello.name, memory_ == Memory::shared)),
      link_(context_, self_, memory_),
      worker_(worker_options()) {
  if (setup_.links) link_.join(setup_.links);
  link_.lend_from(setup_.devices);
}

WorkerSession::~WorkerSession() = default;

Worker::Options WorkerSession::worker_options() {
  Worker::Options options{self_, setup_.hello, {from_seconds(setup_.options.wait), from_seconds(0.25)}, {}};
  options.prepare = [this](const Welcome& welcome) {
    job_ = welcome.job;
    require_descriptors("a worker with " + std::to_string(job_.shards) + " shards", job_.shards, 0);
    compute_ = compute_node(welcome);
  };
  options.computing = [this] { return compute_->description(); };
  options.model = setup_.model;
  options.last = setup_.last;
  options.state_file = temporary_state_file;
  return options;
}

// In the background, only the threads that compute and read samples have low priority. The thread that sends
// messages does not, because heartbeats are short.
std::unique_ptr<ComputeNode> WorkerSession::compute_node(const Welcome& welcome) {
  const WorkerSpec& spec = setup_.options.spec;
  const auto make = [&](Workload workload) {
    return std::make_unique<ComputeNode>(posting_to(link_, self_), std::move(workload), job_,
                                         Throttle::parse(spec.simulate_slowdown, spec.simulate_cpu_share),
                                         gradients());
  };
  if (!spec.background) return make(setup_.workload(welcome));
  const auto politely = [&] {
    give_way();
    return make(polite(setup_.workload(welcome), thread_count(spec.threads)));
  };
  return std::async(std::launch::async, politely).get();
}

// A worker that joins again computes in another node.
BufferPool WorkerSession::gradients() {
  const std::uint64_t floats = job_.layout.size();
  if (!setup_.keeps_gradients) return BufferPool(floats, memory_);
  if (!kept_gradients_) kept_gradients_.emplace(floats, memory_, BufferPool::Retired::kept);
  return *kept_gradients_;
}

const ExitReason& WorkerSession::run() {
  const std::string& name = setup_.hello.name;
  const WorkerSpec& spec = setup_.options.spec;
  const auto say = speaker("worker", name, setup_.options.quiet);
  const std::string scheduler = scheduler_places(setup_.options.scheduler);
  say(looking_for(scheduler, setup_.options.wait));
  StatusLogger status_logger(link_, name, setup_.device, say, {from_seconds(setup_.options.wait)});
  link_.on_exchange([&](NodeId shard, Exchanged by) { status_logger.exchange(shard, by); });
  const auto trace = traced(status_logger, setup_.options.trace, self_, name);
  link_.connect(scheduler_node, scheduler);
  std::optional<LeftWatch> watch;
  if (spec.background && setup_.hello.kind == DeviceKind::cpu)
    watch.emplace(thread_count(spec.threads), [this](double share) { tell_left(share); });
  try {
    memory_check("a worker", job_, [&] {
      host(worker_, self_, trace ? *trace : status_logger, [&](const Envelope& envelope) {
        const auto* message = std::get_if<ToCompute>(&envelope.message);
        if (compute_ && message != nullptr) compute_->give(*message);
      });
    });
  } catch (const std::exception& trouble) {
    // A restarted worker would fail in the same way: the scheduler ends the job, unless other workers remain.
    link_.send({self_, scheduler_node, Message(std::in_place_type<ToScheduler>, Goodbye{trouble.what()})});
    throw;
  }
  if (compute_ && compute_->failure()) throw Failure(*compute_->failure());  // already reported
  status_logger.over(worker_.exit_reason());
  return worker_.exit_reason();
}

void WorkerSession::tell_left(double share) {
  link_.post({{link_node, self_, Message(std::in_place_type<ToWorker>, MachineLeft{share})}});
}

void WorkerSession::request_end(EndRequest end) {
  link_.post({{link_node, self_, Message(std::in_place_type<ToWorker>, EndRequested{end})}});
}

void WorkerSession::leave(const std::string& failure) {
  link_.post({{link_node, self_, Message(std::in_place_type<ToWorker>, Interrupt{failure})}});
}

void WorkerSession::lose_state() {
  link_.post({{link_node, self_, Message(std::in_place_type<ToWorker>, StateLost{})}});
}

}  // namespace steelyard
