// The plan of a network: which op computes each node of the model, in which order its activations are, and
// where everything lies in one block of memory.
//
// On the CPU activations stay in lanes after a direct convolution or a linear layer, and are transposed
// before an op that needs the other order. Some nodes are merged into one step: a ReLU behind a direct
// convolution or a batch norm, and an addition between the two. On CUDA devices an activation adds the bias
// of the linear layer before it, and a layer norm may compute the addition before it.
//
// In bf16 activations may be stored in bfloat16. The input, the scores and what leads to the row numbers of
// an embedding are float32 nevertheless, on the CPU also all values in lanes; between the two storages the
// planner inserts casts.
#pragma once

#include <steelyard/model.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/interval.h"
#include "nn/op.h"

namespace steelyard::nn {

// A column of the op table: makes the ops of a plan.
struct Column {
  std::function<std::unique_ptr<Op>(const OpKind& kind, const OpPlace& place)> make;
  // A norm merged with its tail; empty if the column has no such op.
  std::function<std::unique_ptr<Op>(const BatchNorm& op, const OpPlace& place, FusedTail tail)>
      make_batch_norm{};
  Storage storage = Storage::float32;  // of activations
  // Casts an activation, and its gradient back, between storages; place.storage is the output's. Empty if all
  // is float32.
  std::function<std::unique_ptr<Op>(const OpPlace& place)> make_cast{};
  // An activation that first adds the bias of the linear layer before it; empty if the column has no such op.
  std::function<std::unique_ptr<Op>(const Activation& op, const OpPlace& place)> make_biased_activation{};
  bool norms_add = false;  // layer norms support Forward::sum
};

// The columns that compute on a CPU.
enum class Backend : std::uint8_t {
  reference,  // plain loops with double sums: the reference for all others
  cpu,        // oneDNN and our own kernels
};

// How a step passes on the gradient of one of its inputs.
enum class Giving : std::uint8_t {
  none,        // not needed
  write,       // writes: the last reader of a value comes first in backward
  in_place,    // as write, but in the buffer of its output's gradient
  add,         // the op adds to the gradients of others
  write_aside  // the network adds it for the op
};

// One op with its place. The network calls steps in order for forward, and for backward as Plan::backward
// lists them.
struct Step {
  std::string name;  // of the node, or of an inserted step
  std::unique_ptr<Op> op;
  Traits traits{};
  std::vector<std::uint32_t> inputs{};   // values
  std::uint32_t output = 0;              // value
  std::vector<std::uint32_t> tensors{};  // of the model
  // An addition that the norm behind it computes in its own sweep; by itself only if it is computed again.
  bool with_next = false;
  std::vector<Interval> final{};  // floats of tensors that no earlier step uses: their gradient is final here
  bool first_backward = true;     // no later step uses the tensors: the gradient is written, not added
  std::vector<Giving> gives{};    // for each input
  bool learns = false;            // backward must reach this step
};

// The output of a step. Value 0 is the input of the network, in the caller's memory.
struct PlannedValue {
  Shape shape;
  Order order = Order::samples;
  std::uint64_t size = 0;  // numbers
  Storage storage = Storage::float32;
  std::uint64_t place = 0;     // in the arena, in floats
  std::uint64_t gradient = 0;  // place of its gradient

  // Floats of the arena that it fills.
  [[nodiscard]] std::uint64_t floats() const {
    return (size * bytes_of(storage) + sizeof(float) - 1) / sizeof(float);
  }
};

// One call of the backward pass.
struct BackwardCall {
  std::uint32_t step = 0;
  bool again = false;  // computes the output again (nn/recomputation.h), not the gradients
};

struct Plan {
  std::vector<Step> steps;
  std::vector<PlannedValue> values;
  std::vector<BackwardCall> backward;  // in order
  // One block for values, gradients, workspace and the memory for write_aside.
  std::uint64_t arena = 0, workspace = 0, aside = 0;  // floats in all; begins of the two

  [[nodiscard]] std::uint64_t bytes() const;  // of the arena, and kept by the ops
  // The implementation of each step, as "conv1: direct".
  [[nodiscard]] std::vector<std::string> implementations() const;
};

// Completes a plan with steps, values and backward: sets gives, places and sizes of the arena
// (nn/plan_memory.cpp).
void plan_memory(Plan& plan);

// Both throw Failure (configuration) if the model is incomplete.
Plan make_plan(const Model& model, Backend backend);
// All in the order of samples, for at most `micro_batch` samples at once.
Plan make_plan(const Model& model, const Column& column, std::uint32_t micro_batch);

}  // namespace steelyard::nn
