#include "worker/data/augmentation.h"

#include <algorithm>

#include "core/random.h"

namespace steelyard {
namespace {

constexpr std::uint64_t purpose = 0x6175676D;  // tells these random numbers from all others of a position

}  // namespace

void augment(const Augmentation& how, nn::Shape shape, std::uint64_t seed, std::uint64_t epoch,
             std::uint64_t position, float* sample, float* scratch) {
  Random random(hash(hash(seed, purpose), epoch, position));
  const auto shift = [&] {
    return how.crop == 0 ? 0 : static_cast<std::int64_t>(random.below(2 * how.crop + 1)) - how.crop;
  };
  const std::int64_t down = shift(), right = shift();
  const bool flipped = how.flip && random.below(2) == 1;
  const std::int64_t height = shape.height, width = shape.width, channels = shape.channels;
  std::copy_n(sample, shape.size(), scratch);
  for (std::int64_t row = 0; row < height; ++row) {
    for (std::int64_t column = 0; column < width; ++column) {
      const std::int64_t y = row + down, x = (flipped ? width - 1 - column : column) + right;
      float* const to = sample + (row * width + column) * channels;
      if (y >= 0 && y < height && x >= 0 && x < width) {
        std::copy_n(scratch + (y * width + x) * channels, channels, to);
      } else if (how.fill.empty()) {
        std::fill_n(to, channels, 0.0F);
      } else {
        std::copy_n(how.fill.begin(), channels, to);
      }
    }
  }
}

}  // namespace steelyard
