#include "nn/network.h"

#include <algorithm>

#include "core/check.h"
#include "nn/cpu/onednn.h"

namespace steelyard::nn {
namespace {

void check_batch(const Model& model, std::span<const float> parameters, const MicroBatch& batch) {
  CHECK(parameters.size() == model.parameters(), "the parameters have not the size of the model");
  CHECK(std::find(micro_batch_sizes.begin(), micro_batch_sizes.end(), batch.size) != micro_batch_sizes.end(),
        "a micro-batch has a size that networks are not made for");
  CHECK(batch.count <= batch.size, "a micro-batch has more real samples than samples");
}

}  // namespace

Network::Network(const Model& model, Kernels kernels) : model_(model), plan_(make_plan(model, kernels)) {
  padded_ = std::make_unique<FloatBuffer>(model.input().size() * largest_micro_batch);
  for (auto& buffer : gradients_) buffer = std::make_unique<FloatBuffer>(plan_.largest);
}

Sums Network::train(std::span<const float> parameters, const MicroBatch& batch, std::span<float> gradient,
                    bool add, const FinalRange* on_final) {
  CHECK(gradient.size() == model_.parameters(), "the gradient has not the size of the model");
  forward(parameters, batch, true);
  const Pass pass{batch, true};
  const Sums sums = evaluate_loss(model_.loss(), model_.classes(), batch, scores(), strides(batch),
                                  gradients_[0]->data(), pass.places(plan_.last));
  backward(parameters, batch, gradient, add, on_final);
  return sums;
}

Sums Network::evaluate(std::span<const float> parameters, const MicroBatch& batch) {
  forward(parameters, batch, false);
  return evaluate_loss(model_.loss(), model_.classes(), batch, scores(), strides(batch), nullptr,
                       batch.count);
}

void Network::predict(std::span<const float> parameters, const MicroBatch& batch, std::span<float> wanted) {
  CHECK(wanted.size() >= std::uint64_t{batch.count} * model_.classes(), "there is no room for the scores");
  forward(parameters, batch, false);
  const Strides from = strides(batch);
  for (std::uint64_t s = 0; s < batch.count; ++s) {
    for (std::uint64_t c = 0; c < model_.classes(); ++c) {
      wanted[s * model_.classes() + c] = scores()[s * from.sample + c * from.score];
    }
  }
}

std::vector<std::string> Network::implementations() const {
  std::vector<std::string> all;
  for (const Step& step : plan_.steps) all.push_back(step.name + ": " + step.op->implementation());
  return all;
}

void Network::forward(std::span<const float> parameters, const MicroBatch& batch, bool training) {
  check_batch(model_, parameters, batch);
  onednn::use_this_thread_only();  // here, not once at the start: a network may move between threads
  input_ = staged(batch);
  const Pass pass{batch, training};
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    step.op->forward(pass, parameters.data() + step.offset, input_of(i), step.output->data());
  }
}

void Network::backward(std::span<const float> parameters, const MicroBatch& batch, std::span<float> gradient,
                       bool add, const FinalRange* on_final) {
  const Pass pass{batch, true};
  // Two buffers are enough: each step reads the gradient of its output from one and writes that of its input
  // to the other. The loss began with the first.
  float* d_output = gradients_[0]->data();
  float* other = gradients_[1]->data();
  for (std::size_t i = plan_.steps.size(); i-- > plan_.first_learning;) {
    const Step& step = plan_.steps[i];
    float* d_input = step.in_place ? d_output : other;
    step.op->backward(pass, parameters.data() + step.offset,
                      {.input = input_of(i),
                       .output = step.output->data(),
                       .d_output = d_output,
                       .d_input = i == plan_.first_learning ? nullptr : d_input,
                       .d_parameters = gradient.data() + step.offset,
                       .add = add});
    if (step.parameters > 0 && on_final != nullptr && *on_final) {
      (*on_final)(step.offset, step.offset + step.parameters);
    }
    if (!step.in_place) std::swap(d_output, other);
  }
}

// The inputs of a micro-batch, with zeros in place of its padding: whatever lies there, a NaN perhaps, must
// change no sum.
const float* Network::staged(const MicroBatch& batch) {
  if (batch.count == batch.size) return batch.inputs;
  const std::uint64_t real = model_.input().size() * batch.count, all = model_.input().size() * batch.size;
  std::copy_n(batch.inputs, real, padded_->data());
  std::fill_n(padded_->data() + real, all - real, 0.0F);
  return padded_->data();
}

const float* Network::input_of(std::size_t step) const {
  return step == 0 ? input_ : plan_.steps[step - 1].output->data();
}

Strides Network::strides(const MicroBatch& batch) const {
  if (plan_.last == Order::samples) return {model_.classes(), 1};
  return {1, Pass{batch, false}.lanes()};
}

}  // namespace steelyard::nn
