#include "nn/layers/average_pool.h"

#include <algorithm>

#include "nn/cpu/direct.h"
#include "nn/layers/window.h"

namespace steelyard::nn {
namespace {

// Plain loops over pictures in the order of samples: the reference, and fast enough behind large
// convolutions.
class AveragePoolOp final : public Op {
 public:
  AveragePoolOp(Shape input, std::uint32_t size)
      : windows_{input, size}, share_(1.0F / static_cast<float>(size * size)) {}

  void forward(const Pass& pass, const float* /*parameters*/, const float* input, float* output) override {
    const std::uint32_t channels = windows_.input.channels;
    windows_.each(pass.size(), [&](std::uint64_t to, std::uint64_t from) {
      std::fill_n(output + to, channels, 0.0F);
      for (std::uint32_t i = 0; i < windows_.size * windows_.size; ++i) {
        const float* one = input + from + windows_.step(i);
        for (std::uint32_t c = 0; c < channels; ++c) output[to + c] += one[c] * share_;
      }
    });
  }

  void backward(const Pass& pass, const float* /*parameters*/, const Gradients& g) override {
    if (g.d_input == nullptr) return;
    std::fill_n(g.d_input, windows_.input.size() * pass.size(), 0.0F);
    windows_.each(pass.size(), [&](std::uint64_t to, std::uint64_t from) {
      for (std::uint32_t i = 0; i < windows_.size * windows_.size; ++i) {
        float* one = g.d_input + from + windows_.step(i);
        for (std::uint32_t c = 0; c < windows_.input.channels; ++c) one[c] = g.d_output[to + c] * share_;
      }
    });
  }

  [[nodiscard]] std::string implementation() const override { return "loops"; }

 private:
  Windows windows_;
  float share_;
};

// The direct kernels: a window's pixel is a whole vector of samples.
class LanesAveragePoolOp final : public Op {
 public:
  LanesAveragePoolOp(Shape input, std::uint32_t size) : input_(input), size_(size) {}

  void forward(const Pass& pass, const float* /*parameters*/, const float* input, float* output) override {
    direct::average_pool_forward(pool(pass), input, output);
  }

  void backward(const Pass& pass, const float* /*parameters*/, const Gradients& g) override {
    if (g.d_input == nullptr) return;
    direct::average_pool_backward(pool(pass), g.d_output, g.d_input);
  }

  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  [[nodiscard]] direct::Pool pool(const Pass& pass) const {
    return {input_.height, input_.width, input_.channels, size_, pass.lanes()};
  }

  Shape input_;
  std::uint32_t size_;
};

}  // namespace

std::unique_ptr<Op> make_average_pool(Shape input, std::uint32_t size, Order order) {
  if (order == Order::lanes) return std::make_unique<LanesAveragePoolOp>(input, size);
  return std::make_unique<AveragePoolOp>(input, size);
}

}  // namespace steelyard::nn
