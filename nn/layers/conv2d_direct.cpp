#include "core/check.h"
#include "nn/cpu/direct.h"
#include "nn/layers/conv2d.h"

namespace steelyard::nn {
namespace {

// Keeps nothing between forward and backward: the kernels read input and output where they lie.
class DirectConv2d final : public Op {
 public:
  DirectConv2d(Shape input, Shape output, Conv2d options, FusedRelu relu)
      : in_(input), out_(output), options_(options), relu_(relu) {
    CHECK(options.stride == 1 && options.padding < options.kernel, "the direct kernels know stride 1 only");
  }

  void forward(const Pass& pass, const float* parameters, const float* input, float* output) override {
    direct::forward(convolution(pass), input, parameters, parameters + weights(), relu_ != FusedRelu::no,
                    output);
  }

  void backward(const Pass& pass, const float* parameters, const Gradients& g) override {
    if (relu_ == FusedRelu::yes) direct::relu_backward(g.output, g.d_output, out_.size() * pass.lanes());
    direct::backward_weights(convolution(pass), g.input, g.d_output, g.add, g.d_parameters,
                             g.d_parameters + weights());
    if (g.d_input != nullptr) {
      direct::backward_data(convolution(pass), g.d_output, parameters, g.d_input);
    }
  }

  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  [[nodiscard]] std::uint64_t weights() const {
    return std::uint64_t{out_.channels} * options_.kernel * options_.kernel * in_.channels;
  }

  [[nodiscard]] direct::Convolution convolution(const Pass& pass) const {
    return {in_.height,      in_.width,        in_.channels, out_.channels,
            options_.kernel, options_.padding, pass.lanes()};
  }

  Shape in_, out_;
  Conv2d options_;
  FusedRelu relu_;
};

}  // namespace

std::unique_ptr<Op> make_direct_conv2d(Shape input, Shape output, Conv2d options, FusedRelu relu) {
  return std::make_unique<DirectConv2d>(input, output, options, relu);
}

}  // namespace steelyard::nn
