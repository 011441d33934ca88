// The plan of a network: which op computes each layer, in which order of activations, and in which buffers.
//
// With the fast kernels activations stay in lanes from a direct convolution on, or channels last from a
// oneDNN convolution on, and are turned only where one order meets the other; what comes behind a linear
// layer is in lanes. A ReLU behind a direct convolution becomes part of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "nn/layers/op.h"
#include "nn/model.h"

namespace steelyard::nn {

enum class Kernels : std::uint8_t {
  reference,  // plain loops with double sums: what the others are compared with
  fast,       // oneDNN and our direct kernels
};

// One op with its place in the buffers. The network calls steps in order for forward, and
// backwards for backward.
struct Step {
  std::string name;  // of the layer, or of what was put between two
  std::unique_ptr<Op> op;
  std::uint64_t offset = 0, parameters = 0;  // in the flat buffer
  FloatBuffer* output = nullptr;             // its input is the output of the step before
  bool in_place = false;
};

// Every activation is kept from forward to backward, each in a buffer of its own except behind ops in place.
// (A ReLU needs only its output again, a convolution or linear layer only its input, so nothing that is
// needed is lost.)
struct Plan {
  std::vector<Step> steps;
  std::vector<std::unique_ptr<FloatBuffer>> activations;
  std::uint64_t largest = 0;  // floats in the largest activation
  Order last = Order::samples;
  std::size_t first_learning = 0;  // the first step with parameters: backward ends there
};

// Throws Failure (configuration) if the model is not complete.
Plan make_plan(const Model& model, Kernels kernels);

}  // namespace steelyard::nn
