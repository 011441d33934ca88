#include "worker/data/pictures/resampler.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/check.h"

namespace steelyard {
namespace {

// Weights of a target value sum up to `one`. A line has 6 more bits than a byte, and a sum 14 more.
constexpr unsigned weight_bits = 14, line_bits = 6;
constexpr std::uint64_t one = 1 << weight_bits;

struct Crop {
  std::uint32_t offset, length;
};
// The middle of `all` pixels that has the proportions of `mine` to `other` target pixels.
Crop middle(std::uint64_t all, std::uint64_t across, std::uint64_t mine, std::uint64_t other) {
  const std::uint64_t length =
      all * other <= across * mine ? all : std::max<std::uint64_t>(1, across * mine / other);
  return {static_cast<std::uint32_t>((all - length) / 2), static_cast<std::uint32_t>(length)};
}

}  // namespace

Resampler::Resampler(std::uint32_t height, std::uint32_t width, const PictureFormat& to)
    : to_(to), line_(std::uint64_t{to.columns} * to.channels), sums_(to.bytes()) {
  CHECK(height > 0 && width > 0 && to.bytes() > 0 && (to.channels == 1 || to.channels == 3),
        "a picture without pixels, or with other channels than grey or colours");
  const Crop rows = middle(height, width, to.rows, to.columns);
  const Crop columns = middle(width, height, to.columns, to.rows);
  down_ = spread(rows.offset, rows.length, to.rows);
  across_ = spread(columns.offset, columns.length, to.columns);
  even_out(across_, width);
}

Resampler::Spread Resampler::spread(std::uint32_t offset, std::uint32_t length, std::uint32_t targets) {
  Spread all;
  const auto add = [&](std::uint64_t begin, const std::vector<std::uint64_t>& weights) {
    all.begins.push_back(static_cast<std::uint32_t>(offset + begin));
    all.ends.push_back(static_cast<std::uint32_t>(offset + begin + weights.size()));
    all.weights_at.push_back(all.weights.size());
    for (const std::uint64_t weight : weights) all.weights.push_back(static_cast<std::uint16_t>(weight));
  };
  const std::uint64_t n = targets, m = length;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (n < m) {
      // Target i covers [i m, (i + 1) m), and source j covers [j n, (j + 1) n).
      std::vector<std::uint64_t> weights;
      std::uint64_t before = 0;
      for (std::uint64_t j = i * m / n; j * n < (i + 1) * m; ++j) {
        const std::uint64_t until = (std::min((j + 1) * n, (i + 1) * m) - i * m) * one / m;
        weights.push_back(until - before);
        before = until;
      }
      add(i * m / n, weights);
    } else {
      // The middle of target i is at (2 i + 1) m / 2 n; that of source j is at j + 1/2.
      const std::uint64_t centre = (2 * i + 1) * m, at = centre < n ? 0 : centre - n;
      const std::uint64_t j = at / (2 * n), second = at % (2 * n) * one / (2 * n);
      if (second == 0 || j + 1 == m) {
        add(j, {one});
      } else {
        add(j, {one - second, second});
      }
    }
  }
  return all;
}

void Resampler::even_out(Spread& all, std::uint32_t end) {
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < all.begins.size(); ++i) most = std::max(most, all.ends[i] - all.begins[i]);
  std::vector<std::uint16_t> weights(all.begins.size() * most);
  for (std::size_t i = 0; i < all.begins.size(); ++i) {
    const std::uint32_t begin = std::min(all.begins[i], end - most), count = all.ends[i] - all.begins[i];
    std::copy_n(all.weights.data() + all.weights_at[i], count,
                weights.data() + i * most + (all.begins[i] - begin));
    all.begins[i] = begin;
    all.ends[i] = begin + most;
    all.weights_at[i] = i * most;
  }
  all.weights = std::move(weights);
}

// `taps`: weights of a target; a constant of the compiler where it is small.
template <std::uint32_t channels, class Taps>
void Resampler::squeeze(const std::uint8_t* pixels, Taps taps) {
  std::uint32_t* to = line_.data();
  const std::uint16_t* weight = across_.weights.data();
  for (std::uint32_t column = 0; column < to_.columns; ++column, weight += taps) {
    const std::uint8_t* const from = pixels + std::size_t{across_.begins[column]} * channels;
    std::uint32_t sums[channels]{};
    for (std::uint32_t tap = 0; tap < taps; ++tap) {
      for (std::uint32_t c = 0; c < channels; ++c)
        sums[c] += std::uint32_t{weight[tap]} * from[tap * channels + c];
    }
    constexpr unsigned shift = weight_bits - line_bits;
    for (const std::uint32_t sum : sums) *to++ = (sum + (1U << (shift - 1))) >> shift;
  }
}

template <std::uint32_t channels>
void Resampler::squeeze(const std::uint8_t* pixels) {
  const std::uint32_t taps = across_.ends[0] - across_.begins[0];
  if (taps == 1) return squeeze<channels>(pixels, std::integral_constant<std::uint32_t, 1>());
  if (taps == 2) return squeeze<channels>(pixels, std::integral_constant<std::uint32_t, 2>());
  if (taps == 3) return squeeze<channels>(pixels, std::integral_constant<std::uint32_t, 3>());
  squeeze<channels>(pixels, taps);
}

void Resampler::add(std::uint32_t row, const std::uint8_t* pixels) {
  if (to_.channels == 3) {
    squeeze<3>(pixels);
  } else {
    squeeze<1>(pixels);
  }
  while (open_ < to_.rows && down_.ends[open_] <= row) ++open_;
  for (std::uint32_t target = open_; target < to_.rows && down_.begins[target] <= row; ++target) {
    const std::uint32_t weight = down_.weights[down_.weights_at[target] + (row - down_.begins[target])];
    const std::uint32_t* __restrict const line = line_.data();
    std::uint32_t* __restrict const sums = sums_.data() + target * line_.size();
    const std::size_t size = line_.size();
    for (std::size_t i = 0; i < size; ++i) sums[i] += weight * line[i];
  }
}

void Resampler::finish(std::uint8_t* into) const {
  constexpr unsigned shift = weight_bits + line_bits;
  // Local: bytes may alias anything else.
  const std::uint32_t* const sums = sums_.data();
  const std::size_t size = sums_.size();
  for (std::size_t i = 0; i < size; ++i)
    into[i] = static_cast<std::uint8_t>((sums[i] + (1U << (shift - 1))) >> shift);
}

}  // namespace steelyard
