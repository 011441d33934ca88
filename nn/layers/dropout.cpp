#include "nn/layers/dropout.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/buffer.h"
#include "core/random.h"
#include "nn/cpu/direct.h"
#include "nn/cpu/dropout_mask.h"

namespace steelyard::nn {
namespace {

class DropoutOp final : public Op {
 public:
  DropoutOp(Shape shape, double probability, std::uint64_t layer, Order order)
      : shape_(shape),
        layer_(layer),
        order_(order),
        dropped_(static_cast<std::uint32_t>(std::lround(probability * 65536))),
        scale_(static_cast<float>(1 / (1 - probability))),
        lanes_mask_(shape.size() * largest_micro_batch),
        samples_mask_(order == Order::samples ? lanes_mask_.size() : 0) {}

  void forward(const Pass& pass, const float* /*parameters*/, const float* input, float* output) override {
    const std::uint64_t size = shape_.size() * pass.places(order_);
    if (!pass.training) {
      if (output != input) std::copy_n(input, size, output);
      return;
    }
    draw_mask(pass);
    for (std::uint64_t i = 0; i < size; ++i) output[i] = input[i] * mask()[i];
  }

  void backward(const Pass& pass, const float* /*parameters*/, const Gradients& g) override {
    if (g.d_input == nullptr) return;
    const std::uint64_t size = shape_.size() * pass.places(order_);
    for (std::uint64_t i = 0; i < size; ++i) g.d_input[i] = g.d_output[i] * mask()[i];
  }

  [[nodiscard]] bool in_place() const override { return true; }
  [[nodiscard]] std::string implementation() const override { return "loops"; }

 private:
  // Masks are always drawn in lanes, where one vector holds a feature of many samples.
  void draw_mask(const Pass& pass) {
    std::array<std::uint64_t, largest_micro_batch> keys{};
    for (std::uint32_t s = 0; s < pass.size(); ++s) {
      keys[s] = hash(pass.batch.seed, pass.batch.epoch, pass.batch.positions[s], layer_);
    }
    const std::uint64_t pixels = std::uint64_t{shape_.height} * shape_.width;
    draw({pixels, shape_.channels, pass.lanes(), keys.data(), dropped_, scale_, lanes_mask_.data()});
    if (order_ == Order::lanes) return;
    direct::from_lanes(shape_, pass.lanes(), pass.size(), lanes_mask_.data(), samples_mask_.data());
  }

  [[nodiscard]] const float* mask() const {
    return order_ == Order::lanes ? lanes_mask_.data() : samples_mask_.data();
  }

  Shape shape_;
  std::uint64_t layer_;
  Order order_;
  std::uint32_t dropped_;  // of 65536
  float scale_;
  FloatBuffer lanes_mask_, samples_mask_;  // of the last training pass
};

}  // namespace

std::unique_ptr<Op> make_dropout(Shape shape, double probability, std::uint64_t layer, Order order) {
  return std::make_unique<DropoutOp>(shape, probability, layer, order);
}

}  // namespace steelyard::nn
