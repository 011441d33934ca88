// The windows of a pool over pictures, and the windows that cover a place, for kernels.
//
// Along one axis, window w covers `size` places from w * stride - padding on.
#pragma once

#include "nn/cuda/kernel.h"
#include "nn/op.h"

namespace steelyard::nn::cuda {

struct Windows {
  std::uint32_t height, width, channels;  // of the input
  std::uint32_t out_height, out_width;
  std::uint32_t size, stride, padding;
};

template <class Pool>
Windows windows_of(const Pool& op, const OpPlace& place) {
  const Shape in = place.inputs[0], out = place.output;
  return {in.height, in.width, in.channels, out.height, out.width, op.size, op.stride, op.padding};
}

struct Range {
  std::uint32_t begin, end;
};

// The places of window w inside a picture of this length.
__device__ inline Range places_in(const Windows& all, std::uint32_t w, std::uint32_t length) {
  const std::uint32_t begin = w * all.stride, end = begin + all.size;  // in the padded picture
  return {begin > all.padding ? begin - all.padding : 0,
          end < length + all.padding ? end - all.padding : length};
}

// The windows, of `count`, that cover this place.
__device__ inline Range windows_over(const Windows& all, std::uint32_t place, std::uint32_t count) {
  const std::uint32_t padded = place + all.padding, last = padded / all.stride + 1;
  return {padded < all.size ? 0 : (padded - all.size) / all.stride + 1, last < count ? last : count};
}

// The row, column and channel of one number of a sample.
struct Spot {
  std::uint32_t row, column, channel;
};
__device__ inline Spot spot_of(std::uint32_t number, std::uint32_t width, std::uint32_t channels) {
  const std::uint32_t pixel = number / channels, row = pixel / width;
  return {row, pixel - row * width, number - pixel * channels};
}

}  // namespace steelyard::nn::cuda
