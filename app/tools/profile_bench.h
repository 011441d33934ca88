// ProfileBench: workers of this machine, as far as they compute: each a compute node with its own threads, as
// in a real worker (worker/compute/compute_node.h), given pieces of any size. What it measures is what a
// worker would report, and a policy would see.
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

  // Lets the first `crew` workers compute a piece of so many samples, all at once, and waits for them. Their
  // seconds, in any order. `samples` is at most the training set.
  std::vector<double> measure(std::uint64_t samples, unsigned crew);

 private:
  struct Worker {
    NodeId node;
    std::unique_ptr<Link> mail;
    std::unique_ptr<ComputeNode> compute;  // first to go: it posts to the mail
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
