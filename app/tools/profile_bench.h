// ProfileBench: workers without communication. Each is a compute node with its own threads, as in a real
// worker (worker/compute/compute_node.h), and gets pieces of any size. The measured times are those that a
// worker would report to the policy.
//
// Belongs to one thread.
#pragma once

#include <memory>
#include <vector>

#include "app/config/prepare_job.h"
#include "core/buffer.h"
#include "transport/local.h"
#include "worker/compute/compute_node.h"

namespace steelyard {

class ProfileBench {
 public:
  // `job` is complete. Throws Failure as a compute node does.
  ProfileBench(const Job& job, const Workload& workload, unsigned workers);

  // The first `crew` workers compute a piece of `samples` samples each, all at once. Waits for them and
  // returns their times in seconds, in any order. `samples` must not exceed the training set.
  std::vector<double> measure(std::uint64_t samples, unsigned crew);

 private:
  struct Worker {
    NodeId node;
    std::unique_ptr<Link> mail;
    std::unique_ptr<ComputeNode> compute;  // destroyed first, since it posts to `mail`
  };

  std::uint64_t train_samples_;
  Blob parameters_;
  Round round_ = 0;
  PieceId piece_ = 0;
  Position next_ = 0;  // pieces go through the training set
  LocalNetwork network_;
  std::vector<Worker> workers_;
};

}  // namespace steelyard
