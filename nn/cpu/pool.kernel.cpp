// Pools over pictures in the order of samples, with vectors over the channels; see kernels.h. Both directions
// sweep each buffer once, in the order of the written one: backward finds the windows of every input pixel,
// so nothing is cleared first or visited twice.
//
// Channels that fill no vector are processed as a whole one that reaches into the next pixel; only the last
// pixels of a buffer are gathered number by number.
#include "nn/cpu/direct_vector.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

using namespace direct::STEELYARD_LEVEL;  // NOLINT: the vector of this level

using Index = std::ptrdiff_t;
typedef PlaceInWindow Places __attribute__((vector_size(2 * width)));
typedef PlaceInWindow PlacesInMemory __attribute__((vector_size(2 * width), aligned(2), may_alias));

struct Range {
  Index begin, end;
};
// The places of a window inside the picture; `first` is negative if it starts left of or above the picture.
Range inside(Index first, Index size, Index length) {
  return {first < 0 ? -first : 0, first + size > length ? length - first : size};
}
// The windows that cover the place `at`, counted from the padding's first; updated from those of the previous
// place.
Range covering(Range before, Index at, Index size, Index stride, Index windows) {
  while (before.begin * stride + size <= at) ++before.begin;
  while (before.end < windows && before.end * stride <= at) ++before.end;
  return before;
}

// Calls visit(offset of the pixel, rows, columns, place of the first window row and column) for each output
// pixel.
template <class Visit>
[[gnu::always_inline]] inline void each_output(const PoolWindows& p, Visit visit) {
  const Index size = p.size, stride = p.stride, padding = p.padding, channels = p.channels;
  Index output = 0;
  for (Index s = 0; s < static_cast<Index>(p.samples); ++s) {
    for (Index y = 0; y < p.out_height; ++y) {
      const Index top = y * stride - padding;
      const Range rows = inside(top, size, p.height);
      for (Index x = 0; x < p.out_width; ++x, output += channels) {
        const Index left = x * stride - padding;
        visit(output, rows, inside(left, size, p.width), ((s * p.height + top) * p.width + left) * channels);
      }
    }
  }
}

// Calls visit(offset of the pixel, its y and x with padding, the windows' rows and columns, offset of the
// sample's output) for each input pixel.
template <class Visit>
[[gnu::always_inline]] inline void each_input(const PoolWindows& p, Visit visit) {
  const Index out_picture = Index{p.out_height} * p.out_width * p.channels;
  Index input = 0;
  for (Index s = 0; s < static_cast<Index>(p.samples); ++s) {
    Range rows = {0, 0};
    for (Index y = p.padding; y < Index{p.padding} + p.height; ++y) {
      rows = covering(rows, y, p.size, p.stride, p.out_height);
      Range columns = {0, 0};
      for (Index x = p.padding; x < Index{p.padding} + p.width; ++x, input += p.channels) {
        columns = covering(columns, x, p.size, p.stride, p.out_width);
        visit(input, y, x, rows, columns, s * out_picture);
      }
    }
  }
}

// Calls body(first channel, number of channels) for the vectors of a pixel.
template <class Body>
[[gnu::always_inline]] inline void each_vector(Index channels, Body body) {
  Index c = 0;
  for (; c + width <= channels; c += width) body(c, Index{width});
  if (c < channels) body(c, channels - c);
}

// A number that the compiler knows.
template <int number>
struct Known {
  constexpr operator Index() const { return number; }  // NOLINT: used as a number
};

// Calls body(rows, columns) with the lengths of two ranges: as known numbers if windows of 2 x 2 or 3 x 3
// have them, so that the loops over them are unrolled.
template <class Body>
[[gnu::always_inline]] inline void with_lengths(Range rows, Range columns, Body body) {
  const Index down = rows.end - rows.begin, across = columns.end - columns.begin;
  if (down == 1 && across == 1) return body(Known<1>{}, Known<1>{});
  if (down == 1 && across == 2) return body(Known<1>{}, Known<2>{});
  if (down == 2 && across == 1) return body(Known<2>{}, Known<1>{});
  if (down == 2 && across == 2) return body(Known<2>{}, Known<2>{});
  if (down == 3 && across == 3) return body(Known<3>{}, Known<3>{});
  body(down, across);
}

// A whole vector of a pixel never reaches behind the buffer.
[[gnu::always_inline]] inline Vector part(const float* from, Index count, const float* end) {
  return count == width ? load(from) : load_some(from, count, end);
}
[[gnu::always_inline]] inline void put(float* to, Index count, Vector value, bool keep, const float* end) {
  if (count == width) return store(to, value);
  keep ? store_some(to, count, value, end) : store_ahead(to, count, value, end);
}

// The sum of a range of pixels, whose rows are `row` floats apart.
template <class Down, class Across>
[[gnu::always_inline]] inline Vector sum_of(const float* from, Down down, Across across, Index row,
                                            Index channels, Index count, const float* end) {
  Vector sum = {};
  for (Index r = 0; r < down; ++r) {
    for (Index q = 0; q < across; ++q) sum += part(from + r * row + q * channels, count, end);
  }
  return sum;
}

template <bool remember>
void max_forward_of(const PoolWindows& p, const float* input, float* output, PlaceInWindow* places) {
  const Index size = p.size, channels = p.channels, row = p.width * channels;
  const float* end = input + static_cast<Index>(p.samples) * p.height * row;
  const float* out_end = output + static_cast<Index>(p.samples) * p.out_height * p.out_width * channels;
  each_output(p, [=](Index out, Range rows, Range columns, Index first) {
    const Index corner = rows.begin * row + columns.begin * channels;
    const auto place = static_cast<int>(rows.begin * size + columns.begin);
    with_lengths(rows, columns, [=](auto down, auto across) {
      each_vector(channels, [=](Index c, Index count) {
        const float* window = input + first + corner + c;
        Vector best = part(window, count, end);
        Mask where = Mask{} + place;
        for (Index r = 0; r < down; ++r) {
          for (Index q = 0; q < across; ++q) {
            const Vector value = part(window + r * row + q * channels, count, end);
            // The first of equal values, or the first NaN.
            const Mask better = ~(value <= best) & (best == best);
            best = better ? value : best;
            if constexpr (remember)
              where = better ? Mask{} + (place + static_cast<int>(r * size + q)) : where;
          }
        }
        put(output + out + c, count, best, false, out_end);
        // Lanes that reach into the next pixel are overwritten there.
        if constexpr (remember) {
          *reinterpret_cast<PlacesInMemory*>(places + out + c) = __builtin_convertvector(where, Places);
        }
      });
    });
  });
}

void max_forward(const PoolWindows& p, const float* input, float* output, PlaceInWindow* places) {
  if (places == nullptr) return max_forward_of<false>(p, input, output, places);
  max_forward_of<true>(p, input, output, places);
}

void max_backward(const PoolWindows& p, const PlaceInWindow* places, const float* d_output, bool add,
                  float* d_input) {
  const Index size = p.size, stride = p.stride, channels = p.channels, row = p.out_width * channels;
  const float* end = d_output + static_cast<Index>(p.samples) * p.out_height * row;
  const float* d_end = d_input + static_cast<Index>(p.samples) * p.height * p.width * channels;
  each_input(p, [=](Index in, Index y, Index x, Range rows, Range columns, Index sample) {
    const Index first = sample + rows.begin * row + columns.begin * channels;
    const Index place = (y - rows.begin * stride) * size + x - columns.begin * stride;  // in the first window
    with_lengths(rows, columns, [=](auto down, auto across) {
      each_vector(channels, [=](Index c, Index count) {
        Vector sum = add ? part(d_input + in + c, count, d_end) : Vector{};
        for (Index r = 0; r < down; ++r) {
          for (Index q = 0; q < across; ++q) {
            const Index at = first + r * row + q * channels + c;
            const Mask where =
                __builtin_convertvector(*reinterpret_cast<const PlacesInMemory*>(places + at), Mask);
            const int here = static_cast<int>(place - (r * size + q) * stride);
            sum += where == here ? part(d_output + at, count, end) : Vector{};
          }
        }
        put(d_input + in + c, count, sum, add, d_end);
      });
    });
  });
}

void average_forward(const PoolWindows& p, const float* input, float* output) {
  const Index channels = p.channels, row = p.width * channels;
  const float share = 1.0F / (static_cast<float>(p.size) * static_cast<float>(p.size));
  const float* end = input + static_cast<Index>(p.samples) * p.height * row;
  const float* out_end = output + static_cast<Index>(p.samples) * p.out_height * p.out_width * channels;
  each_output(p, [=](Index out, Range rows, Range columns, Index first) {
    const Index corner = first + rows.begin * row + columns.begin * channels;
    with_lengths(rows, columns, [=](auto down, auto across) {
      each_vector(channels, [=](Index c, Index count) {
        const Vector sum = sum_of(input + corner + c, down, across, row, channels, count, end);
        put(output + out + c, count, sum * share, false, out_end);
      });
    });
  });
}

void average_backward(const PoolWindows& p, const float* d_output, bool add, float* d_input) {
  const Index channels = p.channels, row = p.out_width * channels;
  const float share = 1.0F / (static_cast<float>(p.size) * static_cast<float>(p.size));
  const float* end = d_output + static_cast<Index>(p.samples) * p.out_height * row;
  const float* d_end = d_input + static_cast<Index>(p.samples) * p.height * p.width * channels;
  each_input(p, [=](Index in, Index, Index, Range rows, Range columns, Index sample) {
    const Index first = sample + rows.begin * row + columns.begin * channels;
    with_lengths(rows, columns, [=](auto down, auto across) {
      each_vector(channels, [=](Index c, Index count) {
        Vector sum = share * sum_of(d_output + first + c, down, across, row, channels, count, end);
        if (add) sum += part(d_input + in + c, count, d_end);
        put(d_input + in + c, count, sum, add, d_end);
      });
    });
  });
}

}  // namespace

const PoolTable pool = {max_forward, max_backward, average_forward, average_backward};

}  // namespace steelyard::nn::STEELYARD_LEVEL
