#include "nn/layers/conv2d.h"

#include <vector>

namespace steelyard::nn {
namespace {

// The equation of conv2d.h, term by term; all sums in double.
class ReferenceConv2d final : public Op {
 public:
  ReferenceConv2d(Shape input, Shape output, Conv2d options) : in_(input), out_(output), options_(options) {}

  void forward(const Pass& pass, const float* parameters, const float* input, float* output) override {
    const float* biases = parameters + weights();
    each_output(pass.size(),
                [&](std::uint64_t place, std::uint64_t o, std::uint64_t s, std::uint64_t y, std::uint64_t x) {
                  double sum = biases[o];
                  each_product(o, s, y, x, [&](std::uint64_t weight, std::uint64_t in) {
                    sum += static_cast<double>(parameters[weight]) * input[in];
                  });
                  output[place] = static_cast<float>(sum);
                });
  }

  void backward(const Pass& pass, const float* parameters, const Gradients& g) override {
    std::vector<double> d_parameters(weights() + out_.channels, 0.0);
    std::vector<double> d_input(g.d_input == nullptr ? 0 : in_.size() * pass.size(), 0.0);
    each_output(pass.size(),
                [&](std::uint64_t place, std::uint64_t o, std::uint64_t s, std::uint64_t y, std::uint64_t x) {
                  const double d = g.d_output[place];
                  d_parameters[weights() + o] += d;
                  each_product(o, s, y, x, [&](std::uint64_t weight, std::uint64_t in) {
                    d_parameters[weight] += d * g.input[in];
                    if (!d_input.empty()) d_input[in] += d * parameters[weight];
                  });
                });
    for (std::size_t i = 0; i < d_parameters.size(); ++i) {
      g.d_parameters[i] = static_cast<float>(d_parameters[i] + (g.add ? g.d_parameters[i] : 0));
    }
    for (std::size_t i = 0; i < d_input.size(); ++i) g.d_input[i] = static_cast<float>(d_input[i]);
  }

  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  [[nodiscard]] std::uint64_t weights() const {
    return std::uint64_t{out_.channels} * options_.kernel * options_.kernel * in_.channels;
  }

  // visit(place in the output, channel, sample, row, column)
  template <class Visit>
  void each_output(std::uint64_t samples, Visit visit) const {
    std::uint64_t place = 0;
    for (std::uint64_t s = 0; s < samples; ++s) {
      for (std::uint64_t y = 0; y < out_.height; ++y) {
        for (std::uint64_t x = 0; x < out_.width; ++x) {
          for (std::uint64_t o = 0; o < out_.channels; ++o) visit(place++, o, s, y, x);
        }
      }
    }
  }

  // visit(place of the weight, place in the input) for all products of one output, the padding left out.
  template <class Visit>
  void each_product(std::uint64_t o, std::uint64_t s, std::uint64_t y, std::uint64_t x, Visit visit) const {
    const std::uint64_t kernel = options_.kernel, channels = in_.channels;
    for (std::uint64_t r = 0; r < kernel; ++r) {
      const std::uint64_t row = y * options_.stride + r - options_.padding;  // wraps above the picture
      if (row >= in_.height) continue;
      for (std::uint64_t q = 0; q < kernel; ++q) {
        const std::uint64_t column = x * options_.stride + q - options_.padding;
        if (column >= in_.width) continue;
        for (std::uint64_t i = 0; i < channels; ++i) {
          visit(((o * kernel + r) * kernel + q) * channels + i,
                ((s * in_.height + row) * in_.width + column) * channels + i);
        }
      }
    }
  }

  Shape in_, out_;
  Conv2d options_;
};

}  // namespace

std::unique_ptr<Op> make_reference_conv2d(Shape input, Shape output, Conv2d options) {
  return std::make_unique<ReferenceConv2d>(input, output, options);
}

}  // namespace steelyard::nn
