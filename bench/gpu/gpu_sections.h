// The parts of steelyard_gpu_check. Each prints its rows (bench/gpu/rows.h), and throws if a result is wrong.
#pragma once

namespace steelyard::bench {

// Every op of the CUDA column against the reference, in each precision; then its time compared with its
// limit.
void gpu_ops_section();
// Training steps of whole networks.
void gpu_steps_section();
// Whether rounds in steady state allocate or wait, and the cost of a round besides its micro-batches.
void gpu_steady_section();

}  // namespace steelyard::bench
