#include "app/tools/profile_bench.h"

#include "core/check.h"
#include "core/error.h"

namespace steelyard {
namespace {

constexpr Duration timeout = std::chrono::minutes(10);  // for one piece

}  // namespace

ProfileBench::ProfileBench(const Job& job, const Workload& workload, unsigned workers)
    : train_samples_(workload.data.train->size()) {
  auto parameters = std::make_shared<FloatBuffer>(workload.layout.size());
  workload.initialize(parameters->span(), job.seed);
  parameters_ = Blob::of_floats(parameters, parameters->span());
  for (unsigned i = 0; i < workers; ++i) {
    const NodeId node{Role::worker, i + 1};
    std::unique_ptr<Link> mail = network_.join(node);
    auto compute = std::make_unique<ComputeNode>(posting_to(*mail, node), workload, job);
    workers_.push_back({node, std::move(mail), std::move(compute)});
  }
}

std::vector<double> ProfileBench::measure(std::uint64_t samples, unsigned crew) {
  CHECK(samples > 0 && samples <= train_samples_ && crew <= workers_.size(), "no such samples or workers");
  ++round_;
  if (next_ + samples > train_samples_) next_ = 0;
  const Interval positions{next_, next_ + samples};
  next_ += samples;
  for (unsigned i = 0; i < crew; ++i) {
    const Piece piece{.id = ++piece_, .round = round_, .positions = positions};
    workers_[i].compute->give(Compute{piece, parameters_});
  }
  std::vector<double> seconds;
  for (unsigned i = 0; i < crew; ++i) {
    const Time limit = steady_now() + timeout;
    while (const std::optional<Envelope> heard = workers_[i].mail->receive(limit)) {
      const auto* message = std::get_if<ToWorker>(&heard->message);
      const auto* computed = message != nullptr ? std::get_if<Computed>(message) : nullptr;
      if (computed == nullptr) continue;  // slices that became final
      seconds.push_back(computed->report.seconds);
      break;
    }
    if (seconds.size() == i) {
      throw Failure(ExitCode::failed,
                    "a piece of " + std::to_string(samples) +
                        " samples took more than ten minutes: profile with a smaller --max-batch");
    }
  }
  return seconds;
}

}  // namespace steelyard
