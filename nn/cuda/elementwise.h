// Numbers that do not know their neighbours: out[i] = f(i, in[i]...), four to a thread, in 16 bytes at once.
//
//   elementwise(stream, n, Relu{}, output, input);
//
// `F` is a struct with `__device__ float operator()(std::uint64_t i, float a...) const`. Pointers are
// aligned to 16 bytes, as all places of a plan and all tensors of an even size are; where one is not, or for
// the rest behind the last four, numbers are taken one by one. Output and inputs may be the same buffer.
#pragma once

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {

template <class F, class... In>
__global__ void by_four(std::uint64_t n, F f, float* out, const In*... in) {
  const std::uint64_t i = 4 * thread_number();
  if (i >= n) return;
  const auto compute = [&](const auto&... a) {
    return make_float4(f(i, a.x...), f(i + 1, a.y...), f(i + 2, a.z...), f(i + 3, a.w...));
  };
  *reinterpret_cast<float4*>(out + i) = compute(*reinterpret_cast<const float4*>(in + i)...);
}

template <class F, class... In>
__global__ void one_by_one(std::uint64_t begin, std::uint64_t n, F f, float* out, const In*... in) {
  const std::uint64_t i = begin + thread_number();
  if (i < n) out[i] = f(i, in[i]...);
}

template <class F, class... In>
void elementwise(Stream& stream, std::uint64_t n, F f, float* out, const In*... in) {
  constexpr unsigned threads = 256;
  const auto aligned = [](const float* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; };
  const std::uint64_t fours = aligned(out) && (aligned(in) && ...) ? n / 4 : 0;
  if (fours > 0)
    launch(stream, groups_of(fours, threads), threads, &by_four<F, In...>, 4 * fours, f, out, in...);
  const std::uint64_t rest = n - 4 * fours;
  if (rest > 0)
    launch(stream, groups_of(rest, threads), threads, &one_by_one<F, In...>, 4 * fours, n, f, out, in...);
}

}  // namespace steelyard::nn::cuda
