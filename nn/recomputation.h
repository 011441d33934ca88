// Which activations a network keeps from forward to backward, and which it computes again.
//
// The list of steps is cut into segments. Between two segments, a network keeps the values that later
// segments read. Backward goes through the segments from the last to the first: it computes again the values
// that the segment's gradients need, from those kept, and then the gradients. The last segment has just been
// computed, so it is not computed again (Chen et al., "Training deep nets with sublinear memory cost", 2016).
//
// An op gets the same inputs again, and masks of dropout depend on positions only, so the bits of all
// gradients are the same. Running averages are part of the gradient (Rule::ema) and do not change in forward.
#pragma once

#include "nn/network_plan.h"

namespace steelyard::nn {

// Sets `learns` of the steps, and backward, so that all activations are kept.
void plan_backward(Plan& plan);

// After plan_backward(): sets backward and the plan's memory for segments whose activations have at most
// `floats` floats each, if steps are small enough.
void recompute_within(Plan& plan, std::uint64_t floats);

// After plan_backward() and plan_memory(): as recompute_within(), for the segments that need the least
// memory; changes nothing if none need less than the plan has. (The ops' own memory stays.)
void plan_recomputation(Plan& plan);

}  // namespace steelyard::nn
