// WorkerSession: one worker's part in a job, from its first word to its last: the machine, its link, and the
// node that computes for it.
//
// Threads: run() hosts the worker on its caller's; computing and feeding have their own, and libzmq two.
// leave() may be called from any.
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
    WorkerOptions options;  // what computes, and its data, are the concern of `workload`
    Hello hello;
    std::string device = "cpu";                        // where it computes, for people
    std::function<Workload(const Welcome&)> workload;  // what it trains; once it is welcomed
    std::function<Worker::Options::Model()> model{};   // what it tells of a job that has no model
    std::function<void(const Blob&)> last{};           // gets the last parameters
  };

  // Throws Failure for what prevents it from starting.
  explicit WorkerSession(Setup setup);
  ~WorkerSession();
  WorkerSession(const WorkerSession&) = delete;
  WorkerSession& operator=(const WorkerSession&) = delete;

  // Until the job is over for this worker. Throws what ends it from inside, after the scheduler was told.
  const ExitReason& run();
  // The others go on with what this worker owes. `failure`: Interrupt::failure.
  void leave(const std::string& failure = {});

  [[nodiscard]] NodeId node() const { return self_; }

 private:
  Worker::Options worker_options();
  void tell_left(double share);  // any thread
  [[nodiscard]] std::unique_ptr<ComputeNode> compute_node(const Welcome& welcome);

  const Setup setup_;
  const NodeId self_;
  const Memory memory_;
  ZmqContext context_;
  ZmqLink link_;
  Job job_;
  std::unique_ptr<ComputeNode> compute_;
  Worker worker_;
};

}  // namespace steelyard
