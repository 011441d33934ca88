// Direct convolution; direct.h describes the operations.
//
// A row of a picture, lanes included, is contiguous, and one column is `lanes` floats. A block of outputs is
// therefore a run of Vectors anywhere in a row, and the inner loops need not distinguish 16 from 32 lanes.
//
// Forward: a block is up to 6 target channels by `widest` Vectors, with all sums in registers. Every tap
// loads `widest` inputs and broadcasts one weight per channel: about half a load per multiply-add, while
// current processors do two of each per cycle. Backward by the data is the same sum with the kernel rotated
// and in and out exchanged. Backward by the weights keeps sums of up to 4 channels by 5 taps of one kernel
// row.
//
// Taps outside the picture are skipped, not multiplied by zero: columns near the border are processed singly.
#include <cstddef>

#include "nn/cpu/direct_vector.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn::direct::STEELYARD_LEVEL {
namespace {

using Index = std::ptrdiff_t;

constexpr int widest = width == 16 ? 4 : 2;    // forward: Vectors in a block (32 registers, or 16)
constexpr int max_channels = 6;                // forward: channels in a block
constexpr int max_outs = width == 16 ? 4 : 2;  // by weights: channels in a block
constexpr int max_taps = 5;                    // by weights: taps in a block

constexpr Index min_of(Index a, Index b) { return a < b ? a : b; }
constexpr Index max_of(Index a, Index b) { return a > b ? a : b; }

struct Range {
  Index begin, end;
};

// The part of [begin, end) in [0, size); its length is never negative.
constexpr Range clipped(Index begin, Index end, Index size) {
  const Index from = min_of(max_of(begin, 0), size);
  return {from, max_of(from, min_of(end, size))};
}

// target[t][y][x] = bias[t] + sum over f, r, s of weight(t, r, s, f) * source[f][y + r - padding][x + s -
// padding]
struct Correlation {
  const float* source;
  Index sources, height, width;  // of the source: channels, rows, columns
  float* target;
  Index targets, target_height, target_width;
  Index kernel, padding, lanes;
  const float* weights;  // of tap 0, 0 between channels 0 and 0; then strides, which may be negative
  Index by_target, by_row, by_column, by_source;
  const float* bias;  // or null
  bool relu;
};

// The taps of one block: their position in source channel 0, and which of them lie inside the picture.
struct Taps {
  Index offset;  // of tap 0, 0; may lie outside
  Range rows, columns;
};

// Computes `Channels` target channels from `channel` on, `Vectors` Vectors from `offset` on in each.
template <int Channels, int Vectors>
void block(const Correlation& c, const Taps& taps, Index channel, Index offset) {
  const Index row = c.width * c.lanes;
  const Index plane = c.height * row;
  Vector sum[Channels][Vectors];
  for (int t = 0; t < Channels; ++t) {
    const Vector start = broadcast(c.bias != nullptr ? c.bias[channel + t] : 0.0F);
    for (int v = 0; v < Vectors; ++v) sum[t][v] = start;
  }
  for (Index f = 0; f < c.sources; ++f) {
    for (Index r = taps.rows.begin; r < taps.rows.end; ++r) {
      const float* source = c.source + (taps.offset + f * plane + r * row + taps.columns.begin * c.lanes);
      const float* weight = c.weights + (channel * c.by_target + r * c.by_row +
                                         taps.columns.begin * c.by_column + f * c.by_source);
      for (Index s = taps.columns.begin; s < taps.columns.end; ++s) {
        Vector value[Vectors];
        for (int v = 0; v < Vectors; ++v) value[v] = load(source + v * width);
        for (int t = 0; t < Channels; ++t) {
          const Vector factor = broadcast(weight[t * c.by_target]);
          for (int v = 0; v < Vectors; ++v) sum[t][v] += factor * value[v];
        }
        source += c.lanes;
        weight += c.by_column;
      }
    }
  }
  float* target = c.target + offset;
  const Index target_plane = c.target_height * c.target_width * c.lanes;
  for (int t = 0; t < Channels; ++t) {
    for (int v = 0; v < Vectors; ++v) {
      store(target + (channel + t) * target_plane + v * width, c.relu ? rectified(sum[t][v]) : sum[t][v]);
    }
  }
}

// The channels of the next block, of `left` ones. Blocks have nearly equal sizes, since small ones have too
// few sums to hide the latency of additions.
constexpr Index next_block(Index left, Index most) {
  const Index blocks = (left + most - 1) / most;
  return (left + blocks - 1) / blocks;
}

// All target channels of a run.
template <int Vectors>
void all_channels(const Correlation& c, const Taps& taps, Index offset) {
  constexpr decltype(&block<1, Vectors>) blocks[max_channels] = {block<1, Vectors>, block<2, Vectors>,
                                                                 block<3, Vectors>, block<4, Vectors>,
                                                                 block<5, Vectors>, block<6, Vectors>};
  for (Index channel = 0; channel < c.targets;) {
    const Index now = next_block(c.targets - channel, max_channels);
    blocks[now - 1](c, taps, channel, offset);
    channel += now;
  }
}

// A run of outputs with the same taps.
struct Run {
  Taps taps;
  Index offset;   // in the target, in floats
  Index vectors;  // left to compute
};

template <int Vectors>
void cover(const Correlation& c, Run& left) {
  for (; left.vectors >= Vectors; left.vectors -= Vectors) {
    all_channels<Vectors>(c, left.taps, left.offset);
    left.taps.offset += Vectors * width;
    left.offset += Vectors * width;
  }
}

// The columns of row y with these taps, in the widest possible blocks.
void columns(const Correlation& c, Index y, Range rows, Range x) {
  if (x.begin >= x.end) return;
  const Index source = ((y - c.padding) * c.width + x.begin - c.padding) * c.lanes;
  const Range taps = clipped(c.padding - x.begin, c.padding - x.begin + c.width, c.kernel);
  Run left{
      {source, rows, taps}, (y * c.target_width + x.begin) * c.lanes, (x.end - x.begin) * c.lanes / width};
  if constexpr (widest == 4) cover<4>(c, left);
  cover<2>(c, left);
  cover<1>(c, left);
}

void correlate(const Correlation& c) {
  // For columns in `inside` every tap lies in the picture.
  const Range inside = clipped(c.padding, c.width + c.padding - c.kernel + 1, c.target_width);
  for (Index y = 0; y < c.target_height; ++y) {
    const Range rows = clipped(c.padding - y, c.padding - y + c.height, c.kernel);
    for (Index x = 0; x < inside.begin; ++x) columns(c, y, rows, {x, x + 1});
    columns(c, y, rows, inside);
    for (Index x = inside.end; x < c.target_width; ++x) columns(c, y, rows, {x, x + 1});
  }
}

void forward(const Convolution& c, const float* input, const float* weights, const float* bias, bool relu,
             float* output) {
  const Index in = c.in, kernel = c.kernel;
  const Index grown = 2 * Index{c.padding} - kernel + 1;
  correlate({.source = input,
             .sources = in,
             .height = c.height,
             .width = c.width,
             .target = output,
             .targets = c.out,
             .target_height = c.height + grown,
             .target_width = c.width + grown,
             .kernel = kernel,
             .padding = c.padding,
             .lanes = c.lanes,
             .weights = weights,
             .by_target = kernel * kernel * in,
             .by_row = kernel * in,
             .by_column = in,
             .by_source = 1,
             .bias = bias,
             .relu = relu});
}

void backward_data(const Convolution& c, const float* d_output, const float* weights, float* d_input) {
  const Index in = c.in, kernel = c.kernel;
  const Index grown = 2 * Index{c.padding} - kernel + 1;
  correlate({.source = d_output,
             .sources = c.out,
             .height = c.height + grown,
             .width = c.width + grown,
             .target = d_input,
             .targets = in,
             .target_height = c.height,
             .target_width = c.width,
             .kernel = kernel,
             .padding = kernel - 1 - Index{c.padding},
             .lanes = c.lanes,
             .weights = weights + (kernel * kernel - 1) * in,
             .by_target = 1,
             .by_row = -kernel * in,
             .by_column = -in,
             .by_source = kernel * kernel * in,
             .bias = nullptr,
             .relu = false});
}

// ---- Backward by the weights

struct WeightSums {
  const Convolution& shape;
  const float* input;
  const float* d_output;
  bool add;
  float* d_weights;
};

float total(Vector sum) {
  float all = 0;
  for (int lane = 0; lane < width; ++lane) all += sum[lane];
  return all;
}

// The weights of `Outs` channels from `out` on, for input channel i, kernel row r and `Count` taps from `tap`
// on.
template <int Outs, int Count>
void weights_block(const WeightSums& job, Index out, Index i, Index r, Index tap) {
  const Convolution& c = job.shape;
  const Index lanes = c.lanes, kernel = c.kernel, padding = c.padding, columns = c.width;
  const Index grown = 2 * padding - kernel + 1;
  const Index height = c.height + grown, row = (columns + grown) * lanes, plane = height * row;
  Vector sum[Outs][Count] = {};
  const Range rows = clipped(padding - r, padding - r + c.height, height);
  const Range inside = clipped(padding - tap, columns + padding - tap - Count + 1, columns + grown);
  for (Index y = rows.begin; y < rows.end; ++y) {
    const float* gradient = job.d_output + out * plane + y * row;
    const Index shift = ((i * c.height + y + r - padding) * columns + tap - padding) * lanes;
    const auto edge = [&](Index x) __attribute__((always_inline)) {
      for (int t = 0; t < Count; ++t) {
        const Index column = x + tap + t - padding;
        if (column < 0 || column >= columns) continue;
        for (Index at = x * lanes; at < (x + 1) * lanes; at += width) {
          const Vector value = load(job.input + (shift + t * lanes + at));
          for (int o = 0; o < Outs; ++o) sum[o][t] += load(gradient + o * plane + at) * value;
        }
      }
    };
    for (Index x = 0; x < inside.begin; ++x) edge(x);
    for (Index at = inside.begin * lanes; at < inside.end * lanes; at += width) {
      Vector factor[Outs];
      for (int o = 0; o < Outs; ++o) factor[o] = load(gradient + o * plane + at);
      for (int t = 0; t < Count; ++t) {
        const Vector value = in_register(load(job.input + (shift + t * lanes + at)));
        for (int o = 0; o < Outs; ++o) sum[o][t] += factor[o] * value;
      }
    }
    for (Index x = inside.end; x < columns + grown; ++x) edge(x);
  }
  for (int o = 0; o < Outs; ++o) {
    for (int t = 0; t < Count; ++t) {
      float& place = job.d_weights[(((out + o) * kernel + r) * kernel + tap + t) * c.in + i];
      place = total(sum[o][t]) + (job.add ? place : 0.0F);
    }
  }
}

template <int Outs>
void weights_rows(const WeightSums& job, Index out) {
  constexpr decltype(&weights_block<Outs, 1>) blocks[max_taps] = {
      weights_block<Outs, 1>, weights_block<Outs, 2>, weights_block<Outs, 3>, weights_block<Outs, 4>,
      weights_block<Outs, 5>};
  const Index kernel = job.shape.kernel;
  for (Index i = 0; i < job.shape.in; ++i) {
    for (Index r = 0; r < kernel; ++r) {
      for (Index tap = 0; tap < kernel; tap += max_taps) {
        blocks[min_of(kernel - tap, max_taps) - 1](job, out, i, r, tap);
      }
    }
  }
}

void bias_sums(const Convolution& c, const float* d_output, bool add, float* d_bias) {
  const Index grown = 2 * Index{c.padding} - c.kernel + 1;
  const Index plane = (c.height + grown) * (c.width + grown) * c.lanes;
  for (Index o = 0; o < c.out; ++o) {
    const float* gradient = d_output + o * plane;
    Vector sum[4] = {};  // four chains: the sum is then bound by loads, not by the latency of additions
    Index at = 0;
    for (; at + 4 * width <= plane; at += 4 * width) {
      for (int v = 0; v < 4; ++v) sum[v] += load(gradient + at + v * width);
    }
    for (; at < plane; at += width) sum[0] += load(gradient + at);
    d_bias[o] = total((sum[0] + sum[1]) + (sum[2] + sum[3])) + (add ? d_bias[o] : 0.0F);
  }
}

void backward_weights(const Convolution& c, const float* input, const float* d_output, bool add,
                      float* d_weights, float* d_bias) {
  constexpr decltype(&weights_rows<1>) rows[] = {
      weights_rows<1>, weights_rows<2>, weights_rows<min_of(3, max_outs)>, weights_rows<min_of(4, max_outs)>};
  const WeightSums job{c, input, d_output, add, d_weights};
  for (Index out = 0; out < c.out;) {
    const Index now = next_block(c.out - out, max_outs);
    rows[now - 1](job, out);
    out += now;
  }
  if (d_bias != nullptr) bias_sums(c, d_output, add, d_bias);
}

}  // namespace

const ConvolutionTable convolution = {forward, backward_weights, backward_data};

}  // namespace steelyard::nn::direct::STEELYARD_LEVEL
