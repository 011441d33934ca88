#include "nn/cuda/kernel.h"
#include "nn/cuda/ops.h"
#include "nn/cuda/loss.h"
namespace steelyard::nn::cuda {
std::uint64_t loss_workspace(const LossOptions&, std::uint32_t) { return 0; }
__global__ void temporary(LossOptions o, std::uint32_t size, const BatchNumbers* numbers, const std::uint32_t* labels, const float* scores, float* gradient, LossSums* sums) {
  for (std::uint32_t s = 0; s < size; ++s) for (std::uint32_t l = 0; l < o.labels; ++l) {
    const float* x = scores + (s * o.labels + l) * o.classes; float* g = gradient ? gradient + (s * o.labels + l) * o.classes : nullptr;
    if (s >= numbers->count) { for (unsigned c = 0; g && c < o.classes; ++c) g[c] = 0; continue; }
    unsigned y = labels[s * o.labels + l]; if (y >= o.classes) { ++sums->no_class; continue; }
    unsigned best = 0, rival = y == 0 ? 1 : 0; for (unsigned c = 0; c < o.classes; ++c) { if (x[c] > x[best]) best = c; if (c != y && x[c] > x[rival]) rival = c; }
    sums->correct += best == y; float share = 1.0f / o.labels;
    if (o.kind == Loss::hinge) { float d = 1 + x[rival] - x[y]; for (unsigned c = 0; g && c < o.classes; ++c) g[c] = 0; if (d > 0) { sums->loss += d * share; if (g) { g[rival] = share; g[y] = -share; } } continue; }
    double z = 0; for (unsigned c = 0; c < o.classes; ++c) z += exp(double(x[c]) - x[best]);
    for (unsigned c = 0; c < o.classes; ++c) { double p = exp(double(x[c]) - x[best]) / z, t = o.smoothing / o.classes + (c == y ? 1 - o.smoothing : 0); sums->loss -= t * log(p) * share; if (g) g[c] = (p - t) * share; }
  }
}
void add_loss(const Context& c, const LossOptions& o, std::uint32_t n, const float* s, float* g, LossSums* sums, float*) { launch(c.stream, 1, 1, &temporary, o, n, c.numbers, c.labels, s, g, sums); }
}
