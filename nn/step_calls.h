// Calls the steps of a plan, forward and backward, with their buffers. The same for networks on a processor
// and on a device; pointers are those of the place where the ops compute.
#pragma once

#include <steelyard/model.h>

#include <cstdint>
#include <vector>

#include "nn/network_plan.h"

namespace steelyard::nn {

// The memory of a network, in which the plan's places are offsets.
struct PlanBuffers {
  const Model& model;
  const Plan& plan;
  float* arena;
  const float* input;       // of the micro-batch
  const float* parameters;  // flat, in the order of Model::layout()
  float* gradient;          // likewise; unused in forward

  [[nodiscard]] const float* value(std::uint32_t index) const {
    return index == 0 ? input : arena + plan.values[index].place;
  }
  [[nodiscard]] float* d_value(std::uint32_t index) const { return arena + plan.values[index].gradient; }
};

class StepCalls {
 public:
  // A step alone.
  void forward(const PlanBuffers& at, const Pass& pass, const Step& step);
  // Step i of a forward pass: as the plan merges it with its neighbours (Step::with_next).
  void forward(const PlanBuffers& at, const Pass& pass, std::size_t i);

  // The calls of Plan::backward. `add`: to the gradient of parameters. add_up(size, storage, from, to) adds
  // numbers for ops that cannot add. done(i): the gradients of step i are computed.
  template <class AddUp, class Done>
  void backward(const PlanBuffers& at, const Pass& pass, bool add, AddUp add_up, Done done) {
    for (const auto& [i, again] : at.plan.backward) {
      if (again) {
        forward(at, pass, at.plan.steps[i]);
      } else {
        backward(at, pass, at.plan.steps[i], add, add_up);
        done(i);
      }
    }
  }

 private:
  template <class AddUp>
  void backward(const PlanBuffers& at, const Pass& pass, const Step& step, bool add, AddUp add_up) {
    backward(at, pass, step, add);
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      if (step.gives[k] != Giving::write_aside) continue;
      const PlannedValue& given = at.plan.values[step.inputs[k]];
      add_up(given.shape.size() * pass.places(given.order), given.storage, at.arena + at.plan.aside,
             at.d_value(step.inputs[k]));
    }
  }
  void backward(const PlanBuffers& at, const Pass& pass, const Step& step, bool add);
  void point(const PlanBuffers& at, const Step& step);

  // Scratch: not kept between two calls.
  std::vector<const float*> inputs_, parameters_;
  std::vector<InputGradient> d_inputs_;
  std::vector<float*> d_parameters_;
};

}  // namespace steelyard::nn
