#include "nn/op_table.h"

namespace steelyard::nn::reference {
namespace {

// The equation of include/steelyard/layers.h, term by term; all sums in double.
class ReferenceConv2d final : public ReferenceOp {
 public:
  ReferenceConv2d(const Conv2d& options, const OpPlace& place)
      : in_(place.inputs[0]), out_(place.output), options_(options) {}

  void forward(const Pass& pass, const Forward& call) override {
    each_output(pass.size(),
                [&](std::uint64_t to, std::uint64_t o, std::uint64_t s, std::uint64_t y, std::uint64_t x) {
                  double sum = options_.bias ? call.parameters[1][o] : 0;
                  each_product(o, s, y, x, [&](std::uint64_t weight, std::uint64_t in) {
                    sum += static_cast<double>(call.parameters[0][weight]) * call.inputs[0][in];
                  });
                  call.output[to] = static_cast<float>(sum);
                });
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint64_t weights =
        std::uint64_t{out_.channels} * options_.kernel.rows * options_.kernel.columns * group_inputs();
    std::vector<double> d_weights(weights, 0.0), d_bias(out_.channels, 0.0);
    std::vector<double> d_input(call.d_inputs[0].to == nullptr ? 0 : in_.size() * pass.size(), 0.0);
    each_output(pass.size(),
                [&](std::uint64_t from, std::uint64_t o, std::uint64_t s, std::uint64_t y, std::uint64_t x) {
                  const double d = call.d_output[from];
                  d_bias[o] += d;
                  each_product(o, s, y, x, [&](std::uint64_t weight, std::uint64_t in) {
                    d_weights[weight] += d * call.inputs[0][in];
                    if (!d_input.empty()) d_input[in] += d * call.parameters[0][weight];
                  });
                });
    put(d_weights, call.add, call.d_parameters[0]);
    if (options_.bias) put(d_bias, call.add, call.d_parameters[1]);
    put(d_input, false, call.d_inputs[0].to);
  }

 private:
  static void put(const std::vector<double>& sums, bool add, float* to) {
    for (std::size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<float>(sums[i] + (add ? to[i] : 0));
  }

  [[nodiscard]] std::uint64_t group_inputs() const { return in_.channels / options_.groups; }

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

  // visit(place of the weight, place in the input) for all products of one output, without padding.
  template <class Visit>
  void each_product(std::uint64_t o, std::uint64_t s, std::uint64_t y, std::uint64_t x, Visit visit) const {
    const std::uint64_t channels = group_inputs();
    const std::uint64_t first = o / (out_.channels / options_.groups) * channels;
    for (std::uint64_t r = 0; r < options_.kernel.rows; ++r) {
      const std::uint64_t row = y * options_.stride + r - options_.padding.rows;  // wraps above the picture
      if (row >= in_.height) continue;
      for (std::uint64_t q = 0; q < options_.kernel.columns; ++q) {
        const std::uint64_t column = x * options_.stride + q - options_.padding.columns;
        if (column >= in_.width) continue;
        for (std::uint64_t i = 0; i < channels; ++i) {
          visit(((o * channels + i) * options_.kernel.rows + r) * options_.kernel.columns + q,
                ((s * in_.height + row) * in_.width + column) * in_.channels + first + i);
        }
      }
    }
  }

  Shape in_, out_;
  Conv2d options_;
};

}  // namespace

STEELYARD_OP(Conv2d, ReferenceConv2d)

}  // namespace steelyard::nn::reference
