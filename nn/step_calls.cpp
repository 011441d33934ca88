#include "nn/step_calls.h"

namespace steelyard::nn {

void StepCalls::forward(const PlanBuffers& at, const Pass& pass, const Step& step) {
  point(at, step);
  step.op->forward(pass, {inputs_, parameters_, at.arena + at.plan.values[step.output].place,
                          at.arena + at.plan.workspace});
}

void StepCalls::forward(const PlanBuffers& at, const Pass& pass, std::size_t i) {
  const Step& step = at.plan.steps[i];
  if (step.with_next) return;
  if (i == 0 || !at.plan.steps[i - 1].with_next) return forward(at, pass, step);
  const Step& addition = at.plan.steps[i - 1];
  point(at, step);
  inputs_.clear();
  for (const std::uint32_t term : addition.inputs) inputs_.push_back(at.value(term));
  step.op->forward(pass, {inputs_, parameters_, at.arena + at.plan.values[step.output].place,
                          at.arena + at.plan.workspace, at.arena + at.plan.values[addition.output].place});
}

void StepCalls::backward(const PlanBuffers& at, const Pass& pass, const Step& step, bool add) {
  point(at, step);
  d_parameters_.clear();
  for (const std::uint32_t index : step.tensors) {
    d_parameters_.push_back(at.gradient + at.model.tensors()[index].offset);
  }
  float* const aside = at.arena + at.plan.aside;
  d_inputs_.clear();
  for (std::size_t k = 0; k < step.inputs.size(); ++k) {
    const Giving giving = step.gives[k];
    d_inputs_.push_back({giving == Giving::none          ? nullptr
                         : giving == Giving::write_aside ? aside
                                                         : at.d_value(step.inputs[k]),
                         giving == Giving::add});
  }
  step.op->backward(pass, {inputs_, parameters_, at.value(step.output), at.d_value(step.output), d_inputs_,
                           d_parameters_, add || !step.first_backward, at.arena + at.plan.workspace});
}

void StepCalls::point(const PlanBuffers& at, const Step& step) {
  inputs_.clear();
  for (const std::uint32_t input : step.inputs) inputs_.push_back(at.value(input));
  parameters_.clear();
  for (const std::uint32_t index : step.tensors) {
    parameters_.push_back(at.parameters + at.model.tensors()[index].offset);
  }
}

}  // namespace steelyard::nn
