// The parts of steelyard_gpu_check. Each prints its rows (bench/gpu/rows.h), and throws where a result is
// wrong.
#pragma once

namespace steelyard::bench {

// Every op of the CUDA column against the reference, in each precision; then its time beside what limits it.
void gpu_ops_section();
// Training steps of whole networks.
void gpu_steps_section();
// Whether rounds in steady state allocate or wait, and what a round costs beside its micro-batches.
void gpu_steady_section();

}  // namespace steelyard::bench
