// The transforms of Winograd's method; see winograd.h. A vector holds a number of neighbouring channels, so
// that all transforms are sums of vectors.
#include "nn/cpu/winograd.h"

#include <cstddef>

#include "nn/cpu/bf16_vector.h"
#include "nn/cpu/direct_vector.h"
#include "nn/cpu/small_product.h"

namespace steelyard::nn::winograd::STEELYARD_LEVEL {
namespace {

using namespace direct::STEELYARD_LEVEL;  // NOLINT: the vector of this level
using std::size_t;

// The points are 0, +-a, +-b and infinity.
constexpr float a = 0.625F, b = 1.5F, a2 = a * a, b2 = b * b;
// The divisors of G: the product of a point's distances from all others.
constexpr float at_0 = a2 * b2, at_a = 2 * a2 * (a2 - b2), at_b = 2 * b2 * (b2 - a2);

// B^T x: evaluates windows.
[[gnu::always_inline]] inline void window_values(const Vector (&x)[window], Vector (&to)[window]) {
  const Vector even_a = x[4] - b2 * x[2], odd_a = a * (x[3] - b2 * x[1]);
  const Vector even_b = x[4] - a2 * x[2], odd_b = b * (x[3] - a2 * x[1]);
  to[0] = x[4] - (a2 + b2) * x[2] + (a2 * b2) * x[0];
  to[1] = even_a + odd_a;
  to[2] = even_a - odd_a;
  to[3] = even_b + odd_b;
  to[4] = even_b - odd_b;
  to[5] = x[5] - (a2 + b2) * x[3] + (a2 * b2) * x[1];
}

// A^T m: the pixels of a tile.
[[gnu::always_inline]] inline void tile_pixels(const Vector (&m)[window], Vector (&to)[tile]) {
  const Vector sum_a = m[1] + m[2], sum_b = m[3] + m[4];
  const Vector odd_a = a * (m[1] - m[2]), odd_b = b * (m[3] - m[4]);
  to[0] = m[0] + sum_a + sum_b;
  to[1] = odd_a + odd_b;
  to[2] = a2 * sum_a + b2 * sum_b;
  to[3] = a2 * odd_a + b2 * odd_b + m[5];
}

// A y: evaluates the gradients of a tile.
[[gnu::always_inline]] inline void tile_values(const Vector (&y)[tile], Vector (&to)[window]) {
  const Vector even_a = y[0] + a2 * y[2], odd_a = a * (y[1] + a2 * y[3]);
  const Vector even_b = y[0] + b2 * y[2], odd_b = b * (y[1] + b2 * y[3]);
  to[0] = y[0];
  to[1] = even_a + odd_a;
  to[2] = even_a - odd_a;
  to[3] = even_b + odd_b;
  to[4] = even_b - odd_b;
  to[5] = y[3];
}

// G w: evaluates kernels.
[[gnu::always_inline]] inline void kernel_values(const Vector (&w)[kernel], Vector (&to)[window]) {
  const Vector even_a = (1 / at_a) * w[0] + (a2 / at_a) * w[2], odd_a = (a / at_a) * w[1];
  const Vector even_b = (1 / at_b) * w[0] + (b2 / at_b) * w[2], odd_b = (b / at_b) * w[1];
  to[0] = (1 / at_0) * w[0];
  to[1] = even_a + odd_a;
  to[2] = even_a - odd_a;
  to[3] = even_b + odd_b;
  to[4] = even_b - odd_b;
  to[5] = w[2];
}

// G^T u: the gradients of kernels.
[[gnu::always_inline]] inline void kernel_pixels(const Vector (&u)[window], Vector (&to)[kernel]) {
  const Vector sum_a = (1 / at_a) * (u[1] + u[2]), sum_b = (1 / at_b) * (u[3] + u[4]);
  to[0] = (1 / at_0) * u[0] + sum_a + sum_b;
  to[1] = (a / at_a) * (u[1] - u[2]) + (b / at_b) * (u[3] - u[4]);
  to[2] = a2 * sum_a + b2 * sum_b + u[5];
}

// Applies `values` to the columns and then to the rows of a square.
template <size_t from_size, size_t to_size, class Values>
[[gnu::always_inline]] inline void both_ways(const Vector (&from)[from_size][from_size],
                                             Vector (&to)[to_size][to_size], Values values) {
  Vector half[to_size][from_size];
  for (size_t x = 0; x < from_size; ++x) {
    Vector column[from_size], result[to_size];
    for (size_t y = 0; y < from_size; ++y) column[y] = from[y][x];
    values(column, result);
    for (size_t y = 0; y < to_size; ++y) half[y][x] = result[y];
  }
  for (size_t y = 0; y < to_size; ++y) values(half[y], to[y]);
}

// The place of a tile: its sample's first float, and its first row and column.
struct Place {
  size_t sample, y, x;
};
Place place_of(const Tiles& all, size_t number) {
  const size_t each = all.rows * all.columns, in_sample = number % each;
  return {number / each * all.height * all.width * all.channels, in_sample / all.columns * tile,
          in_sample % all.columns * tile};
}

// Some channels of a square of pixels from row y and column x on; zero outside the picture. Rows and columns
// before the first have huge numbers.
template <class T, size_t size>
[[gnu::always_inline]] inline void fetch(const Tiles& all, const T* sample, size_t y, size_t x,
                                         Vector (&to)[size][size]) {
  const size_t row = all.width * all.channels;
  if (y < all.height && y + size <= all.height && x < all.width && x + size <= all.width) {
    const T* from = sample + y * row + x * all.channels;
    for (size_t i = 0; i < size; ++i, from += row) {
      for (size_t j = 0; j < size; ++j) to[i][j] = load(from + j * all.channels);
    }
    return;
  }
  for (size_t i = 0; i < size; ++i) {
    const T* const from = sample + (y + i) * row;
    for (size_t j = 0; j < size; ++j) {
      const bool inside = y + i < all.height && x + j < all.width;
      to[i][j] = inside ? load(from + (x + j) * all.channels) : Vector{};
    }
  }
}

// The 36 numbers at one place of each plane.
[[gnu::always_inline]] inline void fetch(Planes<const float> from, size_t at, Vector (&to)[window][window]) {
  const float* next = from.data + at;
  for (auto& row : to) {
    for (Vector& value : row) {
      value = load(next);
      next += from.apart;
    }
  }
}

[[gnu::always_inline]] inline void put(const Vector (&values)[window][window], Planes<float> to, size_t at) {
  float* next = to.data + at;
  for (const auto& row : values) {
    for (const Vector& value : row) {
      store(next, value);
      next += to.apart;
    }
  }
}

template <class T>
void windows(const Tiles& all, size_t padding, const T* pictures, Planes<float> to) {
  for (size_t t = 0; t < all.count; ++t) {
    const auto [sample, y, x] = place_of(all, all.begin + t);
    for (size_t c = 0; c < all.channels; c += width) {
      Vector pixels[window][window], values[window][window];
      fetch(all, pictures + sample + c, y - padding, x - padding, pixels);
      both_ways(pixels, values, [](auto& from, auto& result) { window_values(from, result); });
      put(values, to, t * all.channels + c);
    }
  }
}

template <class T>
void tiles(const Tiles& all, Channels channels, Planes<const float> from, const float* bias, T* pictures) {
  const size_t row = channels.end - channels.begin;
  for (size_t t = 0; t < all.count; ++t) {
    const auto [sample, y, x] = place_of(all, all.begin + t);
    for (size_t c = channels.begin; c < channels.end; c += width) {
      Vector values[window][window], pixels[tile][tile];
      fetch(from, t * row + c - channels.begin, values);
      both_ways(values, pixels, [](auto& m, auto& result) { tile_pixels(m, result); });
      const Vector first = bias == nullptr ? Vector{} : load(bias + c);
      for (size_t i = 0; i < tile && y + i < all.height; ++i) {
        for (size_t j = 0; j < tile && x + j < all.width; ++j) {
          store(pictures + sample + ((y + i) * all.width + x + j) * all.channels + c, first + pixels[i][j]);
        }
      }
    }
  }
}

template <class T>
void tile_gradients(const Tiles& all, Channels channels, const T* pictures, Planes<float> to) {
  const size_t row = channels.end - channels.begin;
  for (size_t t = 0; t < all.count; ++t) {
    const auto [sample, y, x] = place_of(all, all.begin + t);
    for (size_t c = channels.begin; c < channels.end; c += width) {
      Vector pixels[tile][tile], values[window][window];
      fetch(all, pictures + sample + c, y, x, pixels);
      both_ways(pixels, values, [](auto& from, auto& result) { tile_values(from, result); });
      put(values, to, t * row + c - channels.begin);
    }
  }
}

constexpr size_t taps = kernel * kernel;

// The kernels from `width` inputs to `width` outputs. In memory they are [output][input][tap], with `row`
// floats for each output; here [input][tap][output].
struct Block {
  Vector x[width * taps];
};

[[gnu::always_inline]] inline void fetch(const float* weights, size_t row, Block& to) {
  for (size_t some = 0; some < width * taps; some += width) {
    Vector square[width];
    for (size_t o = 0; o < width; ++o) square[o] = load(weights + o * row + some);
    turn_square(square);
    for (size_t i = 0; i < width; ++i) to.x[some + i] = square[i];
  }
}

[[gnu::always_inline]] inline void put(const Block& block, bool add, float* weights, size_t row) {
  for (size_t some = 0; some < width * taps; some += width) {
    Vector square[width];
    for (size_t i = 0; i < width; ++i) square[i] = block.x[some + i];
    turn_square(square);
    for (size_t o = 0; o < width; ++o) {
      float* const at = weights + o * row + some;
      store(at, add ? load(at) + square[o] : square[o]);
    }
  }
}

// Exchanges inputs and outputs: [output][tap][input].
[[gnu::always_inline]] inline void exchange(Block& block) {
  for (size_t tap = 0; tap < taps; ++tap) {
    Vector square[width];
    for (size_t i = 0; i < width; ++i) square[i] = block.x[i * taps + tap];
    turn_square(square);
    for (size_t o = 0; o < width; ++o) block.x[o * taps + tap] = square[o];
  }
}

void kernels(const Pairs& pairs, bool turned, const float* weights, Planes<float> to) {
  const size_t row = (turned ? pairs.from : pairs.to).end - (turned ? pairs.from : pairs.to).begin;
  for (size_t o = pairs.to.begin; o < pairs.to.end; o += width) {
    for (size_t first = pairs.from.begin; first < pairs.from.end; first += width) {
      Block block;
      fetch(weights + (o * pairs.inputs + first) * taps, pairs.inputs * taps, block);
      if (turned) exchange(block);
      const size_t from_place = first - pairs.from.begin, to_place = o - pairs.to.begin;
      const size_t at = turned ? to_place * row + from_place : from_place * row + to_place;
      for (size_t i = 0; i < width; ++i) {
        Vector w[kernel][kernel], values[window][window];
        for (size_t tap = 0; tap < taps; ++tap) {
          w[tap / kernel][tap % kernel] = block.x[i * taps + (turned ? taps - 1 - tap : tap)];
        }
        both_ways(w, values, [](auto& from, auto& result) { kernel_values(from, result); });
        put(values, to, at + i * row);
      }
    }
  }
}

void kernel_gradients(const Pairs& pairs, Planes<const float> from, bool add, float* weights) {
  const size_t row = pairs.to.end - pairs.to.begin;
  for (size_t o = pairs.to.begin; o < pairs.to.end; o += width) {
    for (size_t first = pairs.from.begin; first < pairs.from.end; first += width) {
      Block block;
      for (size_t i = 0; i < width; ++i) {
        Vector values[window][window], w[kernel][kernel];
        fetch(from, (first - pairs.from.begin + i) * row + o - pairs.to.begin, values);
        both_ways(values, w, [](auto& u, auto& result) { kernel_pixels(u, result); });
        for (size_t tap = 0; tap < taps; ++tap) block.x[i * taps + tap] = w[tap / kernel][tap % kernel];
      }
      put(block, add, weights + (o * pairs.inputs + first) * taps, pairs.inputs * taps);
    }
  }
}

template <bool add>
void multiply_each(const Extent& size, bool turned, Planes<const float> a, Planes<const float> b,
                   Planes<float> c) {
  const auto rows = static_cast<Index>(size.rows), columns = static_cast<Index>(size.columns),
             depth = static_cast<Index>(size.depth);
  for (size_t p = 0; p < planes; ++p) {
    multiply<add>(rows, columns,
                  turned ? Left{a.data + p * a.apart, 1, rows} : Left{a.data + p * a.apart, depth, 1},
                  {b.data + p * b.apart, columns}, {c.data + p * c.apart, columns}, [&](Index, Index) {
                    return Need{0, depth, columns};
                  });
  }
}

void products(const Extent& size, bool turned, bool add, Planes<const float> a, Planes<const float> b,
              Planes<float> c) {
  add ? multiply_each<true>(size, turned, a, b, c) : multiply_each<false>(size, turned, a, b, c);
}

}  // namespace

const PictureTable<float> pictures = {windows<float>, tiles<float>, tile_gradients<float>};
const PictureTable<Bf16Bits> pictures_bf16 = {windows<Bf16Bits>, tiles<Bf16Bits>, tile_gradients<Bf16Bits>};
const Table table = {kernels, kernel_gradients, products};

}  // namespace steelyard::nn::winograd::STEELYARD_LEVEL
