// ReLU and pooling on lanes, and conversion between samples and lanes; see direct.h. All are bound by memory,
// so each buffer is swept once.
#include <cstddef>
#include <cstdint>

#include "nn/cpu/direct_vector.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn::direct::STEELYARD_LEVEL {
namespace {

using Index = std::ptrdiff_t;

void relu_backward(const float* output, float* gradient, std::size_t size) {
  for (std::size_t at = 0; at < size; at += width) {
    store(gradient + at, load(output + at) <= 0.0F ? Vector{} : load(gradient + at));
  }
}

void clear(float* to, Index size) {
  for (Index at = 0; at < size; at += width) store(to + at, Vector{});
}

// Calls `window(input offset, output offset)` for each Vector of the output, in memory order.
template <class Window>
[[gnu::always_inline]] inline void each_window(const Pool& p, Window window) {
  const Index size = p.size, lanes = p.lanes, height = p.height, columns = p.width;
  const Index out_height = height / size, out_width = columns / size;
  Index output = 0;
  for (Index c = 0; c < p.channels; ++c) {
    for (Index y = 0; y < out_height; ++y) {
      const Index row = (c * height + y * size) * columns * lanes;
      for (Index x = 0; x < out_width; ++x) {
        for (Index lane = 0; lane < lanes; lane += width, output += width) {
          window(row + x * size * lanes + lane, output);
        }
      }
    }
  }
}

// Zeroes the rows and columns of a gradient that no window covers.
void clear_uncovered(const Pool& p, float* d_input) {
  const Index lanes = p.lanes, height = p.height, row = p.width * lanes;
  const Index covered_rows = height - height % p.size, covered = row - p.width % p.size * lanes;
  for (Index c = 0; c < p.channels; ++c) {
    float* plane = d_input + c * height * row;
    if (covered < row) {
      for (Index y = 0; y < covered_rows; ++y) clear(plane + y * row + covered, row - covered);
    }
    clear(plane + covered_rows * row, (height - covered_rows) * row);
  }
}

// A size known to the compiler (nearly always 2) lets it keep the whole window in registers.
template <int Fixed>  // the size of the windows; 0: given by the shape
Vector greatest(const float* window, Index size, Index row, Index lanes) {
  if constexpr (Fixed > 0) size = Fixed;
  Vector best = load(window);
  for (Index r = 0; r < size; ++r) {
    for (Index s = 0; s < size; ++s) {
      const Vector value = load(window + r * row + s * lanes);
      best = best > value ? best : value;
    }
  }
  return best;
}

template <int Fixed>
void max_forward_of(const Pool& p, const float* input, float* output) {
  const Index size = p.size, lanes = p.lanes, row = p.width * lanes;
  each_window(
      p, [=](Index in, Index out) { store(output + out, greatest<Fixed>(input + in, size, row, lanes)); });
}

template <int Fixed>
void max_backward_of(const Pool& p, const float* input, const float* d_output, bool relu, float* d_input) {
  const Index size = Fixed > 0 ? Fixed : Index{p.size}, lanes = p.lanes, row = p.width * lanes;
  each_window(p, [=](Index in, Index out) {
    const Vector best = greatest<Fixed>(input + in, size, row, lanes);
    // The gradient still to assign: zero after the first place with the maximum.
    Vector gradient = load(d_output + out);
    if (relu) gradient = best <= 0.0F ? Vector{} : gradient;
    for (Index r = 0; r < size; ++r) {
      for (Index s = 0; s < size; ++s) {
        const Index at = in + r * row + s * lanes;
        const Mask here = load(input + at) == best;
        store(d_input + at, here ? gradient : Vector{});
        gradient = here ? Vector{} : gradient;
      }
    }
  });
  clear_uncovered(p, d_input);
}

void max_forward(const Pool& p, const float* input, float* output) {
  if (p.size == 2) return max_forward_of<2>(p, input, output);
  max_forward_of<0>(p, input, output);
}

void max_backward(const Pool& p, const float* input, const float* d_output, bool relu, float* d_input) {
  if (p.size == 2) return max_backward_of<2>(p, input, d_output, relu, d_input);
  max_backward_of<0>(p, input, d_output, relu, d_input);
}

void average_forward(const Pool& p, const float* input, float* output) {
  const Index size = p.size, lanes = p.lanes, row = p.width * lanes;
  const float share = 1.0F / static_cast<float>(size * size);
  each_window(p, [=](Index in, Index out) {
    Vector sum = {};
    for (Index r = 0; r < size; ++r) {
      for (Index s = 0; s < size; ++s) sum += load(input + in + r * row + s * lanes);
    }
    store(output + out, sum * share);
  });
}

void average_backward(const Pool& p, const float* d_output, float* d_input) {
  const Index size = p.size, lanes = p.lanes, row = p.width * lanes;
  const float share = 1.0F / static_cast<float>(size * size);
  each_window(p, [=](Index in, Index out) {
    const Vector gradient = load(d_output + out) * share;
    for (Index r = 0; r < size; ++r) {
      for (Index s = 0; s < size; ++s) store(d_input + in + r * row + s * lanes, gradient);
    }
  });
  clear_uncovered(p, d_input);
}

// ---- between samples (contiguous, channels last) and lanes
//
// Both directions move a square of `width` samples by `width` features through the registers. The features of
// a sample are in the order [pixel][channel], the rows of lanes in the order [channel][pixel].

// Visits the rows of lanes in the order of a sample's features.
class Row {
 public:
  Row(Index pixels, Index channels) : pixels_(pixels), channels_(channels) {}
  // Returns this row's number and advances.
  Index next() {
    const Index now = row_;
    row_ += pixels_;
    if (++channel_ == channels_) {
      channel_ = 0;
      row_ -= pixels_ * channels_ - 1;
    }
    return now;
  }

 private:
  Index pixels_, channels_;
  Index row_ = 0, channel_ = 0;
};

void to_lanes(std::uint32_t pixels, std::uint32_t channels, std::uint32_t lanes, std::uint32_t count,
              const float* samples, float* picture) {
  const Index features = Index{pixels} * channels;
  for (Index first = 0; first < lanes; first += width) {
    Row row(pixels, channels);
    Index feature = 0;
    for (; feature + width <= features; feature += width) {
      Vector square[width];
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i) {
        square[i] = first + i < count ? load(samples + (first + i) * features + feature) : Vector{};
      }
      turn_square(square);
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i) store(picture + row.next() * lanes + first, square[i]);
    }
    for (; feature < features; ++feature) {
      float* to = picture + row.next() * lanes + first;
      for (int i = 0; i < width; ++i)
        to[i] = first + i < count ? samples[(first + i) * features + feature] : 0.0F;
    }
  }
}

void from_lanes(std::uint32_t pixels, std::uint32_t channels, std::uint32_t lanes, std::uint32_t count,
                const float* picture, float* samples) {
  const Index features = Index{pixels} * channels;
  for (Index first = 0; first < count; first += width) {
    const Index here = count - first < width ? count - first : Index{width};
    Row row(pixels, channels);
    Index feature = 0;
    for (; feature + width <= features; feature += width) {
      Vector square[width];
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i) square[i] = load(picture + row.next() * lanes + first);
      turn_square(square);
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i) {
        if (i < here) store(samples + (first + i) * features + feature, square[i]);
      }
    }
    for (; feature < features; ++feature) {
      const float* from = picture + row.next() * lanes + first;
      for (Index i = 0; i < here; ++i) samples[(first + i) * features + feature] = from[i];
    }
  }
}

}  // namespace

const PoolTable pool = {relu_backward, max_forward, max_backward, average_forward, average_backward};
const TransposeTable transpose = {to_lanes, from_lanes};

}  // namespace steelyard::nn::direct::STEELYARD_LEVEL
