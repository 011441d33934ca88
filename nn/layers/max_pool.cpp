#include "nn/layers/max_pool.h"

#include <algorithm>

#include "nn/cpu/direct.h"
#include "nn/layers/window.h"

namespace steelyard::nn {
namespace {

// Plain loops over pictures in the order of samples: the reference, and fast enough behind large
// convolutions.
class MaxPoolOp final : public Op {
 public:
  MaxPoolOp(Shape input, std::uint32_t size) : windows_{input, size} {}

  void forward(const Pass& pass, const float* /*parameters*/, const float* input, float* output) override {
    const std::uint32_t channels = windows_.input.channels;
    windows_.each(pass.size(), [&](std::uint64_t to, std::uint64_t from) {
      std::copy_n(input + from, channels, output + to);
      for (std::uint32_t i = 1; i < windows_.size * windows_.size; ++i) {
        const float* other = input + from + windows_.step(i);
        for (std::uint32_t c = 0; c < channels; ++c) output[to + c] = std::max(output[to + c], other[c]);
      }
    });
  }

  void backward(const Pass& pass, const float* /*parameters*/, const Gradients& g) override {
    if (g.d_input == nullptr) return;
    std::fill_n(g.d_input, windows_.input.size() * pass.size(), 0.0F);
    windows_.each(pass.size(), [&](std::uint64_t to, std::uint64_t from) {
      for (std::uint32_t c = 0; c < windows_.input.channels; ++c) {
        std::uint64_t best = from + c;
        for (std::uint32_t i = 1; i < windows_.size * windows_.size; ++i) {
          const std::uint64_t other = from + c + windows_.step(i);
          if (g.input[other] > g.input[best]) best = other;
        }
        g.d_input[best] = g.d_output[to + c];
      }
    });
  }

  [[nodiscard]] std::string implementation() const override { return "loops"; }

 private:
  Windows windows_;
};

// The direct kernels: a window's pixel is a whole vector of samples.
class LanesMaxPoolOp final : public Op {
 public:
  LanesMaxPoolOp(Shape input, std::uint32_t size, bool relu) : input_(input), size_(size), relu_(relu) {}

  void forward(const Pass& pass, const float* /*parameters*/, const float* input, float* output) override {
    direct::max_pool_forward(pool(pass), input, output);
  }

  void backward(const Pass& pass, const float* /*parameters*/, const Gradients& g) override {
    if (g.d_input == nullptr) return;
    direct::max_pool_backward(pool(pass), g.input, g.d_output, relu_, g.d_input);
  }

  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  [[nodiscard]] direct::Pool pool(const Pass& pass) const {
    return {input_.height, input_.width, input_.channels, size_, pass.lanes()};
  }

  Shape input_;
  std::uint32_t size_;
  bool relu_;
};

}  // namespace

std::unique_ptr<Op> make_max_pool(Shape input, std::uint32_t size, Order order, bool relu) {
  if (order == Order::lanes) return std::make_unique<LanesMaxPoolOp>(input, size, relu);
  return std::make_unique<MaxPoolOp>(input, size);
}

}  // namespace steelyard::nn
