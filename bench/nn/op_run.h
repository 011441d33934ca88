// One op of the op table with buffers of its own, to be checked and timed: micro-batches of 32 samples, in
// training, all gradients wanted. No two values share a buffer, as they may in a network. For one thread.
#pragma once

#include <steelyard/layers.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "nn/op.h"

namespace steelyard::bench {

// An op, and what it gets. A batch norm of two inputs is what the planner makes of most in a ResNet:
// relu(batch_norm(a) + b) in one op.
struct OpCase {
  std::string detail;  // what the name of the op and its first input do not say
  nn::OpKind kind;
  std::vector<nn::Shape> inputs;
  nn::Order order;  // of its inputs on the CPU

  [[nodiscard]] std::string title() const;  // "conv2d 16x16x32, 3x3"
  [[nodiscard]] nn::Shape output() const;
  // relu(batch_norm(a) + b)
  [[nodiscard]] bool is_fused() const;

  // Floating-point operations of both passes over so many samples, by the op's own count of products: one
  // forward is two backward, one for each factor's gradient. 0 for ops without products.
  [[nodiscard]] double flops(std::uint32_t samples) const;
  // Bytes that both passes must touch at the least: values, parameters and gradients once each, and what
  // backward reads of forward's once more.
  [[nodiscard]] double bytes(const nn::Traits& traits, std::uint32_t samples) const;
};

// Of one value, in the order of samples.
struct OpResult {
  std::string what;  // "output"
  std::vector<float> numbers;
};

enum class Column : std::uint8_t { reference, cpu };  // of the op table

class OpRun {
 public:
  // Inputs, parameters and the gradient of the output are drawn, the same for both columns.
  OpRun(const OpCase& of, Column column);

  void forward_and_backward();
  // Output, gradients of inputs, gradients of parameters.
  [[nodiscard]] std::vector<OpResult> results() const;

  // What was drawn, in the order of this column: one span each, and those of the gradient of the output.
  [[nodiscard]] std::vector<std::span<const float>> inputs() const { return values(inputs_); }
  [[nodiscard]] std::vector<std::span<const float>> parameters() const { return values(parameters_); }
  // Before backward, which may overwrite it.
  [[nodiscard]] std::span<const float> d_output() const { return output_.gradient.span(); }

  [[nodiscard]] double flops() const;
  [[nodiscard]] double bytes() const;

 private:
  struct Buffers {
    explicit Buffers(std::uint64_t size);
    FloatBuffer value, gradient;
  };

  static std::vector<std::span<const float>> values(const std::deque<Buffers>& of);
  void draw();

  OpCase of_;
  nn::Shape output_shape_;
  nn::Order in_, out_;
  std::unique_ptr<nn::Op> op_;
  std::deque<Buffers> inputs_, parameters_;
  Buffers output_;
  FloatBuffer workspace_;
  std::vector<const float*> input_values_, parameter_values_;
  std::vector<nn::InputGradient> d_inputs_;
  std::vector<float*> d_parameters_;
};

}  // namespace steelyard::bench
