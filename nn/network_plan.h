// The plan of a network: which op computes each node of the model, in which order of activations, and where
// in one block of memory everything lies.
//
// On the CPU activations stay in lanes from a direct convolution or a linear layer on, and are turned where
// an op needs the other order. Some nodes become one step: a ReLU behind a direct convolution or a batch
// norm, and an addition between the two.
#pragma once

#include <steelyard/model.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/interval.h"
#include "nn/op.h"

namespace steelyard::nn {

// A column of the op table: who makes the ops of a plan.
struct Column {
  std::function<std::unique_ptr<Op>(const OpKind& kind, const OpPlace& place)> make;
  // Of a norm with what follows it; empty if the column has no such op.
  std::function<std::unique_ptr<Op>(const BatchNorm& op, const OpPlace& place, FusedTail tail)>
      make_batch_norm{};
};

// The columns that compute on a CPU.
enum class Backend : std::uint8_t {
  reference,  // plain loops with double sums: what the others are compared with
  cpu,        // oneDNN and our own kernels
};

// How a step hands on the gradient of one of its inputs.
enum class Giving : std::uint8_t {
  none,        // nobody needs it
  write,       // it is the first: the last reader of a value comes first in backward
  in_place,    // it is the first, and works in the buffer of its output's gradient
  add,         // the op adds it to what others gave
  write_aside  // the network adds it for the op
};

// One op with its place. The network calls steps in order for forward, and backwards for backward.
struct Step {
  std::string name;  // of the node, or of what was put between two
  std::unique_ptr<Op> op;
  Traits traits{};
  std::vector<std::uint32_t> inputs{};   // values
  std::uint32_t output = 0;              // value
  std::vector<std::uint32_t> tensors{};  // of the model
  std::vector<Interval> final{};  // floats of those that no step before uses: their gradient is final here
  bool first_backward = true;     // no step behind uses them: the gradient is written, not added to
  std::vector<Giving> gives{};    // for each input
  bool learns = false;            // backward must come here
};

// What a step delivers. Value 0 is the input of the network, in the caller's memory.
struct PlannedValue {
  Shape shape;
  Order order = Order::samples;
  std::uint64_t size = 0;      // floats
  std::uint64_t place = 0;     // in the arena
  std::uint64_t gradient = 0;  // place of its gradient
};

struct Plan {
  std::vector<Step> steps;
  std::vector<PlannedValue> values;
  // One block for values, gradients, and what only lives for one call.
  std::uint64_t arena = 0, workspace = 0, aside = 0;  // floats in all; where the two begin

  [[nodiscard]] std::uint64_t bytes() const;  // of the arena, and of what the ops keep
  // What computes each step, as "conv1: direct".
  [[nodiscard]] std::vector<std::string> implementations() const;
};

// Completes a plan whose steps and values are there: gives, places, sizes of the arena (nn/plan_memory.cpp).
void plan_memory(Plan& plan);

// Both throw Failure (configuration) if the model is not complete.
Plan make_plan(const Model& model, Backend backend);
// Everything in the order of samples, so many at once at the most.
Plan make_plan(const Model& model, const Column& column, std::uint32_t micro_batch);

}  // namespace steelyard::nn
