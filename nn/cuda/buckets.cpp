#include "nn/cuda/buckets.h"

#include <algorithm>
#include <numeric>

namespace steelyard::nn::cuda {
namespace {

constexpr std::uint64_t least_bytes = 1 << 20;
constexpr std::uint64_t usual_buckets = 16;

class Filling {
 public:
  explicit Filling(std::uint64_t least) : least_(least) {}

  void add(std::size_t step, const std::vector<Interval>& ranges) {
    if (ranges.empty()) return;
    if (floats_.count() == 0) next_.first_step = step;
    next_.last_step = step;
    for (const Interval& range : ranges) floats_.add(range);
    if (floats_.count() >= least_) close();
  }
  std::vector<Bucket> take() {
    if (floats_.count() > 0) close();
    return std::move(full_);
  }

 private:
  void close() {
    next_.parts = floats_.intervals();
    full_.push_back(std::move(next_));
    next_ = {};
    floats_.clear();
  }

  const std::uint64_t least_;
  std::vector<Bucket> full_;
  Bucket next_;
  IntervalSet floats_;
};

}  // namespace

std::vector<Bucket> forward_buckets(const Plan& plan, std::uint64_t least) {
  Filling buckets(least);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) buckets.add(i, plan.steps[i].final);
  return buckets.take();
}

std::vector<Bucket> backward_buckets(const Plan& plan, std::uint64_t least) {
  Filling buckets(least);
  for (std::size_t i = plan.steps.size(); i-- > 0;) {
    if (plan.steps[i].learns) buckets.add(i, plan.steps[i].final);
  }
  return buckets.take();
}

std::uint64_t bucket_floats(std::uint64_t parameters) {
  return std::max(least_bytes / sizeof(float), parameters / usual_buckets);
}

}  // namespace steelyard::nn::cuda
