// One op of the op table with its own buffers, for checks and timing: micro-batches of 32 samples, in
// training, with all gradients. Unlike in a network, no two values share a buffer. For one thread.
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

// An op and its inputs. A batch norm with two inputs is relu(batch_norm(a) + b) in one op, as the planner
// fuses most batch norms of a ResNet.
struct OpCase {
  std::string detail;  // in addition to the name of the op and its first input
  nn::OpKind kind;
  std::vector<nn::Shape> inputs;
  nn::Order order;  // of its inputs on the CPU

  [[nodiscard]] std::string title() const;  // "conv2d 16x16x32, 3x3"
  [[nodiscard]] nn::Shape output() const;
  // relu(batch_norm(a) + b)
  [[nodiscard]] bool is_fused() const;

  // Floating-point operations of both passes over `samples`, from the op's own count of products: each
  // product of the forward pass needs two in the backward pass, one per factor's gradient. 0 for ops without
  // products.
  [[nodiscard]] double flops(std::uint32_t samples) const;
  // Bytes that both passes must at least touch: values, parameters and gradients once each, and the forward
  // values that backward reads once more.
  [[nodiscard]] double bytes(const nn::Traits& traits, std::uint32_t samples) const;
};

// The numbers of one value, sample by sample.
struct OpResult {
  std::string what;  // "output"
  std::vector<float> numbers;
};

enum class Column : std::uint8_t { reference, cpu };  // of the op table

class OpRun {
 public:
  // Inputs, parameters and the gradient of the output are random, and equal for both columns.
  OpRun(const OpCase& of, Column column);

  void forward_and_backward();
  // Output, gradients of inputs, gradients of parameters.
  [[nodiscard]] std::vector<OpResult> results() const;

  // The random inputs and parameters, in the memory order of this column: one span each.
  [[nodiscard]] std::vector<std::span<const float>> inputs() const { return values(inputs_); }
  [[nodiscard]] std::vector<std::span<const float>> parameters() const { return values(parameters_); }
  // The random gradient of the output. Call it before backward, which may overwrite it.
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
