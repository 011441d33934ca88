// The window of a pooling op, checked.
#pragma once

#include "core/error.h"
#include "core/processor.h"
#include "nn/cpu/kernel_calls.h"
#include "nn/cpu/kernels.h"
#include "nn/op.h"

namespace steelyard::nn::cpu {

// What both pools of the CPU share.
inline const PoolTable& pool_kernels(Level level = cpu_level()) {
  return at_level(level, baseline::pool, v3::pool, v4::pool);
}

// In the order of samples; those that are padding are pooled too, so that they are finite.
template <class Pool>
PoolWindows windows_of(const Pool& op, const OpPlace& place) {
  const Shape in = place.inputs[0], out = place.output;
  return {in.height, in.width, in.channels, out.height, out.width, op.size, op.stride, op.padding, 0};
}

// In the order of lanes.
template <class Pool>
direct::Pool direct_pool(const Pool& op, Shape in, const Pass& pass) {
  return {in.height, in.width, in.channels, op.size, pass.lanes()};
}
template <class Pool>
void require_direct(const Pool& op) {
  if (op.stride != op.size || op.padding != 0) {
    throw Failure(ExitCode::configuration,
                  "has windows that overlap or a padding, in lanes: only samples can have them");
  }
}

}  // namespace steelyard::nn::cpu
