// A data set of pictures as bytes, for tests of samples that a device keeps.
#pragma once

#include <steelyard/data_set.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/random.h"

namespace steelyard {

// Pictures of 6 x 6 pixels in 3 colours, whose numbers follow from a byte. `salt` tells sets apart.
class BytePictures : public DataSet {
 public:
  explicit BytePictures(std::uint64_t size, std::uint64_t salt = 1) : size_(size), salt_(salt) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] nn::Shape shape() const override { return {6, 6, 3}; }
  [[nodiscard]] std::uint32_t classes() const override { return 4; }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    ++reads;
    for (std::uint64_t i = 0; i < shape().size(); ++i) {
      const auto byte = static_cast<float>(hash(salt_, index, i) % 256);
      into[i] = (byte / 255 - 0.45F) / (0.2F + 0.01F * static_cast<float>(i % 3));
    }
    *labels = static_cast<std::uint32_t>(hash(salt_, index) % 4);
  }
  mutable std::atomic<std::uint64_t> reads{0};

 private:
  const std::uint64_t size_, salt_;
};

inline DataSets byte_pictures(std::uint64_t train, std::uint64_t test) {
  DataSets sets{std::make_shared<BytePictures>(train), std::make_shared<BytePictures>(test, 2), "pictures"};
  sets.augmentation = {.crop = 2, .flip = true, .fill = {-2, -3, -4}};
  return sets;
}

}  // namespace steelyard
