// Numbers that a sample has one of for each channel, against those that it has at each place:
//
//   by_channel     out[s][p][c] = f(numbers[s][c], in[s][p][c]...)
//   channel_sums   out[s][c] = share * sum over p of f(in[s][p][c]...)   (+ what is there, with `add`)
//
// `F` is a struct with `__device__ float operator()(float...) const`. by_channel may write into one of its
// inputs. Its threads take 16 bytes at once where channels allow it; those of the sums have one channel
// each, neighbours side by side, and walk through the places without a barrier.
#pragma once

#include "nn/cuda/in_samples.h"

namespace steelyard::nn::cuda {

struct Places {
  std::uint32_t samples;
  std::uint64_t each;  // places of a sample
  std::uint32_t channels;
};

template <unsigned n, class F, class... In>
__global__ void use_by_channel(std::uint32_t all, std::uint32_t channels, F f, const float* numbers,
                               float* out, const In*... in) {
  const unsigned i = n * thread_in_sample();
  if (i >= all) return;
  const std::uint64_t sample = blockIdx.y, at = sample * all + i;
  const Pack<n> number = load<n>(numbers + sample * channels + i % channels);
  const auto compute = [&](const auto&... packs) {
    Pack<n> result;
    for (unsigned k = 0; k < n; ++k) result.x[k] = f(number.x[k], packs.x[k]...);
    return result;
  };
  store<n>(out + at, compute(load<n>(in + at)...));
}

template <class F, class... In>
__global__ void sum_by_channel(std::uint64_t places, std::uint32_t channels, F f, float share, bool add,
                               float* out, const In*... in) {
  const unsigned c = thread_in_sample();
  if (c >= channels) return;
  const std::uint64_t sample = blockIdx.y, first = sample * places * channels + c;
  float sum = 0;
  for (std::uint64_t p = 0; p < places; ++p) sum += f(in[first + p * channels]...);
  float& to = out[sample * channels + c];
  to = share * sum + (add ? to : 0);
}

template <class F, class... In>
void by_channel(Stream& stream, Places places, F f, const float* numbers, float* out, const In*... in) {
  const std::uint64_t all = places.each * places.channels;
  with_packs(can_pack(places.channels, numbers, out, in...), [&](auto n) {
    launch_in_samples(stream, places.samples, all / n, &use_by_channel<n, F, In...>, all, places.channels, f,
                      numbers, out, in...);
  });
}

template <class F, class... In>
void channel_sums(Stream& stream, Places places, F f, float share, bool add, float* out, const In*... in) {
  launch_in_samples(stream, places.samples, places.channels, &sum_by_channel<F, In...>, places.each,
                    places.channels, f, share, add, out, in...);
}

}  // namespace steelyard::nn::cuda
