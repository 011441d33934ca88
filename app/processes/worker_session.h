// WorkerSession: one worker's participation in a job, from its first message to its last: its state machine,
// link and compute node.
//
// Threads: run() hosts the worker on the caller's thread; computing and feeding have their own threads, and
// libzmq has two. leave() may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/processes/process_settings.h"
#include "transport/zmq.h"
#include "worker/compute/compute_node.h"
#include "worker/worker.h"

namespace steelyard {

class WorkerSession {
 public:
  struct Setup {
    WorkerOptions options;  // without device and data, which `workload` provides
    Hello hello;
    std::string device = "cpu";                        // for messages
    std::function<Workload(const Welcome&)> workload;  // called after Welcome
    std::function<Worker::Options::Model()> model{};   // describes the model, if the job is external
    std::function<void(const Blob&)> last{};           // receives the last parameters
    std::shared_ptr<SameProcess> links{};              // of the shards that its process hosts; null: none
    std::shared_ptr<DeviceExchange> devices{};         // for values in the memory of its device; null: none
    bool keeps_gradients = false;  // memory of gradients is freed with the session; all have one size
  };

  // Throws Failure if it cannot start.
  explicit WorkerSession(Setup setup);
  ~WorkerSession();
  WorkerSession(const WorkerSession&) = delete;
  WorkerSession& operator=(const WorkerSession&) = delete;

  // Runs until the job is over for this worker. Internal errors are reported to the scheduler and rethrown.
  const ExitReason& run();
  // Leaves the job; other workers take over its pieces. `failure`: Interrupt::failure.
  void leave(const std::string& failure = {});
  // In jobs whose workers take the steps: loads another worker's state in place of its own.
  void lose_state();
  void request_end(EndRequest end);  // any thread

  [[nodiscard]] NodeId node() const { return self_; }

 private:
  Worker::Options worker_options();
  void tell_left(double share);  // any thread
  [[nodiscard]] std::unique_ptr<ComputeNode> compute_node(const Welcome& welcome);
  [[nodiscard]] BufferPool gradients();

  const Setup setup_;
  const NodeId self_;
  const Memory memory_;
  ZmqContext context_;
  ZmqLink link_;
  Job job_;
  std::optional<BufferPool> kept_gradients_;
  std::unique_ptr<ComputeNode> compute_;
  Worker worker_;
};

}  // namespace steelyard
