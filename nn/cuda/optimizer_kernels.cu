#include "nn/cuda/optimizer_kernels.h"

#include "nn/cuda/sweeps.h"

#define STEELYARD_LEVEL cuda::elements
#define STEELYARD_ALWAYS_FUSED
#include "nn/optimizer/rule_elements.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned threads = 256;

// What the rules read and write of one element.
struct Element {
  float out, w, sum, m, v;
};

// A rule has `state`, its number of slots of state, and `reads_out`: whether it reads `out` in place of the
// sum. `one` computes an element in place.
struct Sgd {
  static constexpr unsigned state = 0;
  static constexpr bool reads_out = false;
  __device__ static void one(const RuleCall& c, Element& e) {
    e.out = elements::sgd_of(e.w, e.sum, c.scale, c.decay, c.rate);
  }
};

__device__ inline void set(Element& e, elements::NextMoment next) { e.out = next.out, e.m = next.m; }
__device__ inline void set(Element& e, elements::NextMoments next) {
  e.out = next.out, e.m = next.m, e.v = next.v;
}

struct Momentum {
  static constexpr unsigned state = 1;
  static constexpr bool reads_out = false;
  __device__ static void one(const RuleCall& c, Element& e) {
    set(e, elements::momentum_of(e.w, e.sum, e.m, c.scale, c.decay, c.rate, c.momentum));
  }
};
struct Nesterov {
  static constexpr unsigned state = 1;
  static constexpr bool reads_out = false;
  __device__ static void one(const RuleCall& c, Element& e) {
    set(e, elements::nesterov_of(e.w, e.sum, e.m, c.scale, c.decay, c.rate, c.momentum));
  }
};
struct Lars {
  static constexpr unsigned state = 1;
  static constexpr bool reads_out = false;
  __device__ static void one(const RuleCall& c, Element& e) {
    set(e, elements::lars_of(e.w, e.sum, e.m, c.scale, c.decay, c.rate, c.momentum));
  }
};
struct Adam {
  static constexpr unsigned state = 2;
  static constexpr bool reads_out = false;
  __device__ static void one(const RuleCall& c, Element& e) {
    set(e, elements::adam_of(e.w, e.sum, e.m, e.v, c.factors));
  }
};
struct Lamb {
  static constexpr unsigned state = 2;
  static constexpr bool reads_out = false;
  __device__ static void one(const RuleCall& c, Element& e) {
    set(e, elements::lamb_of(e.w, e.sum, e.m, e.v, c.factors));
  }
};
// Finishes lamb: `out` is the direction.
struct Walk {
  static constexpr unsigned state = 0;
  static constexpr bool reads_out = true;
  __device__ static void one(const RuleCall& c, Element& e) { e.out = elements::walk_of(e.w, e.out, c.rate); }
};
struct Blend {
  static constexpr unsigned state = 0;
  static constexpr bool reads_out = false;
  __device__ static void one(const RuleCall& c, Element& e) {
    e.out = elements::blend_of(e.w, e.sum, c.momentum, c.scale);
  }
};

// Elements [begin, end), n at a time.
template <class R, unsigned n>
__global__ void sweep_slice(RuleCall c, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t i = begin + n * thread_number();
  if (i >= end) return;
  Pack<n> out{}, m{}, v{}, sum{};
  const Pack<n> w = load<n>(c.w + i);
  if constexpr (R::reads_out) {
    out = load<n>(c.out + i);
  } else {
    sum = load<n>(c.sum + i);
  }
  if constexpr (R::state > 0) m = load<n>(c.m + i);
  if constexpr (R::state > 1) v = load<n>(c.v + i);
  if (c.last != nullptr) {
    const Pack<n> last = load<n>(c.last + i);
    for (unsigned k = 0; k < n; ++k) sum.x[k] += last.x[k];
  }
  for (unsigned k = 0; k < n; ++k) {
    Element e{out.x[k], w.x[k], sum.x[k], m.x[k], v.x[k]};
    R::one(c, e);
    out.x[k] = e.out, m.x[k] = e.m, v.x[k] = e.v;
  }
  store<n>(c.out + i, out);
  if constexpr (R::state > 0) store<n>(c.m + i, m);
  if constexpr (R::state > 1) store<n>(c.v + i, v);
}

template <class R>
void sweep(Stream& stream, const RuleCall& c) {
  const std::uint64_t packed = can_pack(0, c.out, c.w, c.sum, c.last, c.m, c.v) ? c.size / 4 * 4 : 0;
  const std::uint64_t zero = 0;
  if (packed > 0)
    launch(stream, groups_of(packed / 4, threads), threads, &sweep_slice<R, 4>, c, zero, packed);
  if (packed < c.size)
    launch(stream, groups_of(c.size - packed, threads), threads, &sweep_slice<R, 1>, c, packed, c.size);
}

__global__ void find_bad(std::uint64_t size, const float* x, std::uint32_t* bad) {
  const std::uint64_t all = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  bool any = false;
  for (std::uint64_t i = thread_number(); i < size; i += all) {
    std::uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    any |= (bits & 0x7F80'0000U) == 0x7F80'0000U;
  }
  if (any) *bad = 1;  // all that write it write the same
}

// The additions of a chain depend on each other, the loads do not: eight are in flight at a time.
__global__ void square_lanes(std::uint64_t size, const float* x, double* chains, std::uint64_t at) {
  constexpr unsigned ahead = 8;
  const unsigned lane = threadIdx.x;
  std::uint64_t i = (lane + square_chains - at % square_chains) % square_chains;
  double sum = chains[lane];
  for (; i + (ahead - 1) * square_chains < size; i += ahead * square_chains) {
    float own[ahead];
    for (unsigned k = 0; k < ahead; ++k) own[k] = x[i + k * square_chains];
    for (unsigned k = 0; k < ahead; ++k) sum += static_cast<double>(own[k]) * static_cast<double>(own[k]);
  }
  for (; i < size; i += square_chains) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  chains[lane] = sum;
}

}  // namespace

void run(Stream& stream, const RuleCall& call) {
  switch (call.rule) {
    case RuleCall::Rule::sgd:
      return sweep<Sgd>(stream, call);
    case RuleCall::Rule::momentum:
      return sweep<Momentum>(stream, call);
    case RuleCall::Rule::nesterov:
      return sweep<Nesterov>(stream, call);
    case RuleCall::Rule::lars:
      return sweep<Lars>(stream, call);
    case RuleCall::Rule::adam:
      return sweep<Adam>(stream, call);
    case RuleCall::Rule::lamb:
      return sweep<Lamb>(stream, call);
    case RuleCall::Rule::walk:
      return sweep<Walk>(stream, call);
    case RuleCall::Rule::blend:
      return sweep<Blend>(stream, call);
  }
}

void find_not_finite(Stream& stream, std::uint64_t size, const float* x, std::uint32_t* bad) {
  constexpr std::uint64_t most_blocks = 1024;
  const std::uint64_t blocks = groups_of(size, std::uint64_t{8} * threads);
  if (size == 0) return;
  launch(stream, static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), threads, &find_bad, size,
         x, bad);
}

// The square of a float is exact in double, so it does not matter whether it is fused with the addition.
void add_squares(Stream& stream, std::uint64_t size, const float* x, double* chains, std::uint64_t at) {
  static_assert(square_chains == 32, "a chain for each lane of a warp");
  launch(stream, 1, 32, &square_lanes, size, x, chains, at);
}

}  // namespace steelyard::nn::cuda
