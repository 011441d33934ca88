// Buckets: neighbouring steps of a plan whose tensors are copied together, because a copy and its event cost
// some microseconds, and models have hundreds of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/interval.h"
#include "nn/network_plan.h"

namespace steelyard::nn::cuda {

struct Bucket {
  std::size_t first_step = 0, last_step = 0;  // in the order in which the steps are computed
  std::vector<Interval> parts;                // floats of the parameters: ascending, apart from each other
};

// Each bucket but the last has at least this many floats, and ends with the step that completes them. Only
// steps with ranges (Step::final) are in buckets.
//   forward   all steps that have tensors, in order
//   backward  the steps that learn, in reverse
std::vector<Bucket> forward_buckets(const Plan& plan, std::uint64_t least);
std::vector<Bucket> backward_buckets(const Plan& plan, std::uint64_t least);

// The size of a bucket that a model of this many floats should have: 1 MB, or more if there would be many.
std::uint64_t bucket_floats(std::uint64_t parameters);

}  // namespace steelyard::nn::cuda
