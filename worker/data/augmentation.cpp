#include "worker/data/augmentation.h"

#include <algorithm>
#include <cstring>

#include "core/random.h"

namespace steelyard {
namespace {

constexpr std::uint64_t purpose = 0x6175676D;  // separates these random numbers from all others of a position

// A number of channels that the compiler knows, or that it does not.
template <std::size_t number>
struct Channels {
  static constexpr std::size_t value = number;
};
template <>
struct Channels<0> {
  std::size_t value;
};

template <class Count>
float* fill_pixels(Count channels, std::int64_t pixels, const std::vector<float>& fill, float* to) {
  for (std::int64_t i = 0; i < pixels; ++i) {
    for (std::size_t c = 0; c < channels.value; ++c) *to++ = fill.empty() ? 0.0F : fill[c];
  }
  return to;
}

// The pixel before `end` first.
template <class Count>
float* mirror_pixels(Count channels, std::int64_t pixels, const float* end, float* to) {
  for (std::int64_t i = 0; i < pixels; ++i, to += channels.value) {
    end -= channels.value;
    std::memcpy(to, end, channels.value * sizeof(float));
  }
  return to;
}

template <class Count>
void take(Count channels, const Window& window, nn::Shape shape, const std::vector<float>& fill,
          const float* from, float* into) {
  const std::int64_t height = shape.height, width = shape.width;
  // Columns of the sample that lie inside the picture; a mirrored sample has them on the other side.
  const std::int64_t right = std::clamp(window.flipped ? -window.right : window.right, -width, width);
  const std::int64_t before = std::max<std::int64_t>(0, -right), after = std::max<std::int64_t>(0, right);
  const std::int64_t inside = width - before - after;
  const std::int64_t first = std::max<std::int64_t>(0, window.right);  // column of the picture
  for (std::int64_t row = 0; row < height; ++row) {
    const std::int64_t y = row + window.down;
    if (y < 0 || y >= height || inside <= 0) {
      into = fill_pixels(channels, width, fill, into);
      continue;
    }
    const float* const begin = from + static_cast<std::size_t>(y * width + first) * channels.value;
    const std::size_t floats = static_cast<std::size_t>(inside) * channels.value;
    into = fill_pixels(channels, before, fill, into);
    if (window.flipped) {
      into = mirror_pixels(channels, inside, begin + floats, into);
    } else {
      into = std::copy_n(begin, floats, into);
    }
    into = fill_pixels(channels, after, fill, into);
  }
}

}  // namespace

Window window_of(const Augmentation& how, std::uint64_t seed, std::uint64_t epoch, std::uint64_t position) {
  Random random(hash(hash(seed, purpose), epoch, position));
  const auto shift = [&] {
    return how.crop == 0 ? 0 : static_cast<std::int64_t>(random.below(2 * how.crop + 1)) - how.crop;
  };
  Window window;
  window.down = shift();
  window.right = shift();
  window.flipped = how.flip && random.below(2) == 1;
  return window;
}

void take_window(const Window& window, nn::Shape shape, const std::vector<float>& fill, const float* from,
                 float* into) {
  if (shape.channels == 3) return take(Channels<3>(), window, shape, fill, from, into);
  if (shape.channels == 1) return take(Channels<1>(), window, shape, fill, from, into);
  take(Channels<0>{shape.channels}, window, shape, fill, from, into);
}

}  // namespace steelyard
