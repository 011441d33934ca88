// Bound by memory: each number is read and written once, 16 bytes at a time.
#include "nn/cuda/optimizer_step.h"

#include "core/error.h"
#include "nn/cuda/in_samples.h"
#include "nn/optimizer/kernels.h"

namespace steelyard::nn::cuda {
namespace {

using Kind = Optimizer::Kind;

// Each takes the sum scaled, and writes the state and the next version.
struct Sgd {
  float decay, rate;
  __device__ void operator()(float sum, float& w, float&, float&) const {
    const float g = sum + decay * w;
    w = w - rate * g;
  }
};
struct Momentum {
  float decay, rate, momentum;
  bool nesterov;
  __device__ void operator()(float sum, float& w, float& m, float&) const {
    const float g = sum + decay * w;
    m = momentum * m + g;
    w = w - rate * (nesterov ? g + momentum * m : m);
  }
};
struct Adam {
  MomentFactors f;
  __device__ void operator()(float sum, float& w, float& m, float& v) const {
    const float g = sum + f.decay * w;
    m = f.beta1 * m + f.fresh1 * g;
    v = f.beta2 * v + f.fresh2 * g * g;
    w = f.keep * w - f.rate * m / (sqrtf(v) * f.correct2 + f.epsilon);
  }
};

// Elements from `begin` on, n to a thread.
template <unsigned n, unsigned slots, class Rule>
__global__ void step(DeviceUpdate update, std::uint64_t begin, std::uint64_t end, Rule rule) {
  const std::uint64_t i = begin + n * thread_number();
  if (i >= end) return;
  const float scale = static_cast<float>(update.scale) * (update.factor == nullptr ? 1 : *update.factor);
  float* const second = update.state + update.size;
  const Pack<n> sum = load<n>(update.sum + i);
  Pack<n> w = load<n>(update.parameters + i), m{}, v{};
  if (slots > 0) m = load<n>(update.state + i);
  if (slots > 1) v = load<n>(second + i);
  for (unsigned k = 0; k < n; ++k) rule(scale * sum.x[k], w.x[k], m.x[k], v.x[k]);
  store<n>(update.parameters + i, w);
  if (slots > 0) store<n>(update.state + i, m);
  if (slots > 1) store<n>(second + i, v);
}

template <unsigned slots, class Rule>
void step_all(Stream& stream, const DeviceUpdate& u, const Rule& rule) {
  constexpr unsigned threads = 256;
  const float *const first = slots > 0 ? u.state : u.sum, *const second =
                                                              slots > 1 ? u.state + u.size : first;
  const std::uint64_t packed = can_pack(0, u.parameters, u.sum, first, second) ? u.size - u.size % 4 : 0;
  if (packed > 0) {
    launch(stream, groups_of(packed / 4, threads), threads, &step<4, slots, Rule>, u, 0, packed, rule);
  }
  if (packed < u.size) {
    const unsigned blocks = groups_of(u.size - packed, threads);
    launch(stream, blocks, threads, &step<1, slots, Rule>, u, packed, u.size, rule);
  }
}

}  // namespace

void optimizer_step(Stream& stream, const Optimizer& o, const DeviceUpdate& u, double rate, double decay) {
  const double pull = decay * o.weight_decay;
  const auto slow = static_cast<float>(pull), speed = static_cast<float>(rate);
  switch (o.kind) {
    case Kind::sgd:
      return step_all<0>(stream, u, Sgd{slow, speed});
    case Kind::momentum:
    case Kind::nesterov:
      return step_all<1>(stream, u,
                         Momentum{slow, speed, static_cast<float>(o.momentum), o.kind == Kind::nesterov});
    case Kind::adam:
    case Kind::adamw:
      return step_all<2>(stream, u, Adam{moment_factors(o, {{}, {}, {}, u.scale, u.steps}, rate, pull)});
    case Kind::lars:
    case Kind::lamb:
      break;
  }
  throw Failure(
      ExitCode::configuration,
      "optimizer: lars and lamb do not step on a CUDA device: take sgd, momentum, nesterov, adam or "
      "adamw");
}

}  // namespace steelyard::nn::cuda
