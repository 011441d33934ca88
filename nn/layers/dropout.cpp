#include "nn/layers/dropout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/buffer.h"
#include "core/random.h"

namespace steelyard::nn {
namespace {

constexpr std::uint64_t features_a_hash = 4;
constexpr unsigned bits_a_feature = 16;

class DropoutOp final : public Op {
 public:
  DropoutOp(Shape shape, double probability, std::uint64_t layer, Order order)
      : shape_(shape),
        layer_(layer),
        order_(order),
        dropped_(static_cast<std::uint64_t>(std::lround(probability * (1U << bits_a_feature)))),
        scale_(static_cast<float>(1 / (1 - probability))),
        mask_(shape.size() * largest_micro_batch) {
    std::fill_n(mask_.data(), mask_.size(), 0.0F);
  }

  void forward(const Pass& pass, const float* /*parameters*/, const float* input, float* output) override {
    const std::uint64_t size = shape_.size() * pass.places(order_);
    if (!pass.training) {
      if (output != input) std::copy_n(input, size, output);
      return;
    }
    draw(pass);
    for (std::uint64_t i = 0; i < size; ++i) output[i] = input[i] * mask_.data()[i];
  }

  void backward(const Pass& pass, const float* /*parameters*/, const Gradients& g) override {
    if (g.d_input == nullptr) return;
    const std::uint64_t size = shape_.size() * pass.places(order_);
    for (std::uint64_t i = 0; i < size; ++i) g.d_input[i] = g.d_output[i] * mask_.data()[i];
  }

  [[nodiscard]] bool in_place() const override { return true; }
  [[nodiscard]] std::string implementation() const override { return "loops"; }

 private:
  // Fills the mask with 0 and scale_. Features are counted as in a sample (row, column, channel) in both
  // orders.
  void draw(const Pass& pass) {
    std::array<std::uint64_t, largest_micro_batch> keys{};
    for (std::uint32_t s = 0; s < pass.size(); ++s) {
      keys[s] = hash(pass.batch.seed, pass.batch.epoch, pass.batch.positions[s], layer_);
    }
    for (std::uint64_t first = 0; first < shape_.size(); first += features_a_hash) {
      const std::uint64_t end = std::min(first + features_a_hash, shape_.size());
      for (std::uint32_t s = 0; s < pass.size(); ++s) {
        std::uint64_t bits = hash(keys[s], first);
        for (std::uint64_t feature = first; feature < end; ++feature, bits >>= bits_a_feature) {
          const bool kept = (bits & ((1U << bits_a_feature) - 1)) >= dropped_;
          mask_.data()[place(feature, s, pass)] = kept ? scale_ : 0;
        }
      }
    }
  }

  [[nodiscard]] std::uint64_t place(std::uint64_t feature, std::uint64_t sample, const Pass& pass) const {
    if (order_ == Order::samples) return sample * shape_.size() + feature;
    const std::uint64_t pixel = feature / shape_.channels, channel = feature % shape_.channels;
    return (channel * shape_.height * shape_.width + pixel) * pass.lanes() + sample;
  }

  Shape shape_;
  std::uint64_t layer_;
  Order order_;
  std::uint64_t dropped_;  // 16-bit numbers below this drop their feature
  float scale_;
  FloatBuffer mask_;  // of the last training pass; lanes beyond the samples may hold anything finite
};

}  // namespace

std::unique_ptr<Op> make_dropout(Shape shape, double probability, std::uint64_t layer, Order order) {
  return std::make_unique<DropoutOp>(shape, probability, layer, order);
}

}  // namespace steelyard::nn
