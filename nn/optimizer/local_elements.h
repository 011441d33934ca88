// The rules of a local step for one element: nn/optimizer/local_step.h. Included by the processor's loops and
// by the kernels of CUDA devices (nn/cuda/local_step.cu), so that both compute the same bits: each product
// and each sum is rounded once. (A processor whose baseline has fused operations may fuse them; x86-64 does
// not.) Like all code of kernels it includes no library headers.
#pragma once

#if defined(__CUDACC__)
#define STEELYARD_LOCAL __device__ inline
#else
#define STEELYARD_LOCAL [[gnu::always_inline]] inline
#endif

namespace steelyard::nn {

// The numbers of a step that are the same for all floats of a range.
struct LocalFactors {
  float gradient = 0, decay = 0, momentum = 0, moved = 0, local = 0;
};

namespace local_elements {

#if defined(__CUDACC__)  // nvcc fuses operators
STEELYARD_LOCAL float times(float a, float b) { return __fmul_rn(a, b); }
STEELYARD_LOCAL float plus(float a, float b) { return __fadd_rn(a, b); }
STEELYARD_LOCAL float minus(float a, float b) { return __fsub_rn(a, b); }
#else
STEELYARD_LOCAL float times(float a, float b) { return a * b; }
STEELYARD_LOCAL float plus(float a, float b) { return a + b; }
STEELYARD_LOCAL float minus(float a, float b) { return a - b; }
#endif

struct Element {
  float local, kept, moved;
};

// `first`: of a piece; `kept` and `moved` are then not read.
STEELYARD_LOCAL Element step_of(const LocalFactors& f, bool first, bool nesterov, float gradient, Element e) {
  float g = times(f.gradient, gradient);
  if (f.decay != 0) g = plus(g, times(f.decay, e.local));
  const float m = first ? g : plus(times(f.momentum, e.kept), g);
  const float s = nesterov ? plus(g, times(f.momentum, m)) : m;
  return {minus(e.local, times(f.local, s)), m, first ? times(f.moved, s) : plus(e.moved, times(f.moved, s))};
}

STEELYARD_LOCAL Element mean_of(const LocalFactors& f, bool first, float sum, Element e) {
  return {plus(e.local, times(f.local, sum)), e.kept, plus(times(f.moved, sum), first ? 0 : e.moved)};
}

// momentum: the weight of the previous average; decay: the weight of the piece; kept: the first average.
STEELYARD_LOCAL Element ema_of(const LocalFactors& f, bool first, float sum, Element e) {
  const float w = first ? e.local : e.kept;
  const float before = first ? 0 : times(f.momentum, minus(e.moved, times(f.decay, w)));
  const float moved = plus(times(f.gradient, sum), before);
  return {plus(times(f.momentum, w), times(f.local, moved)), w, moved};
}

}  // namespace local_elements
}  // namespace steelyard::nn
