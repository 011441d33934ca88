#include "nn/network.h"

#include <algorithm>

#include "core/check.h"
#include "nn/cpu/onednn.h"
#include "nn/cpu/storage.h"

namespace steelyard::nn {
namespace {

void check_batch(const Model& model, std::span<const float> parameters, const MicroBatch& batch) {
  CHECK(parameters.size() == model.parameters(), "the parameters do not have the size of the model");
  const bool known =
      std::find(micro_batch_sizes.begin(), micro_batch_sizes.end(), batch.size) != micro_batch_sizes.end();
  CHECK((known || model.normalizes_shares()) && batch.size <= model.micro_batch(),
        "a micro-batch has a size that networks are not made for");
  CHECK(batch.count <= batch.size, "a micro-batch has more real samples than samples");
}

}  // namespace

Network::Network(const Model& model, Backend backend)
    : model_(model),
      plan_(make_plan(model, backend)),
      arena_(std::make_unique<FloatBuffer>(plan_.arena)),
      padded_(std::make_unique<FloatBuffer>(model.input().size() * model.micro_batch())) {}

Sums Network::train(std::span<const float> parameters, const MicroBatch& batch, std::span<float> gradient,
                    bool add, const FinalRange* on_final) {
  CHECK(gradient.size() == model_.parameters(), "the gradient does not have the size of the model");
  forward(parameters, batch, true);
  const Sums sums = loss({batch, true}, arena_->data() + scores().gradient);
  backward(parameters, batch, gradient, add, on_final);
  return sums;
}

Sums Network::evaluate(std::span<const float> parameters, const MicroBatch& batch) {
  forward(parameters, batch, false);
  return loss({batch, false}, nullptr);
}

void Network::predict(std::span<const float> parameters, const MicroBatch& batch, std::span<float> wanted) {
  const std::uint64_t labels = model_.labels(), classes = model_.classes();
  CHECK(wanted.size() >= batch.count * labels * classes, "the buffer is too small for the scores");
  forward(parameters, batch, false);
  const Strides from = strides({batch, false});
  const float* all = arena_->data() + scores().place;
  for (std::uint64_t s = 0; s < batch.count; ++s) {
    for (std::uint64_t l = 0; l < labels; ++l) {
      for (std::uint64_t c = 0; c < classes; ++c) {
        wanted[(s * labels + l) * classes + c] = all[s * from.sample + l * from.label + c * from.score];
      }
    }
  }
}

void Network::forward(std::span<const float> parameters, const MicroBatch& batch, bool training) {
  check_batch(model_, parameters, batch);
  onednn::use_this_thread_only();  // in every call: a network may move between threads
  input_ = staged(batch);
  const Pass pass{batch, training, !same_parameters_};
  const PlanBuffers at = buffers(parameters, {});
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) calls_.forward(at, pass, i);
}

void Network::backward(std::span<const float> parameters, const MicroBatch& batch, std::span<float> gradient,
                       bool add, const FinalRange* on_final) {
  const Pass pass{batch, true, false};  // the parameters are those of forward
  const PlanBuffers at = buffers(parameters, gradient);
  calls_.backward(at, pass, add, cpu::add_up, [&](std::uint32_t i) {
    if (on_final == nullptr || !*on_final) return;
    for (const auto& [begin, end] : plan_.steps[i].final) (*on_final)(begin, end);
  });
}

Sums Network::loss(const Pass& pass, float* gradient) const {
  return evaluate_loss({model_.loss(), model_.classes(), model_.labels(), model_.smoothing()}, pass.batch,
                       arena_->data() + scores().place, strides(pass), gradient,
                       gradient == nullptr ? pass.batch.count : pass.places(scores().order));
}

// The inputs of a micro-batch, with its padding replaced by zeros: the padding's contents, perhaps NaN, must
// not affect any sum.
const float* Network::staged(const MicroBatch& batch) {
  if (batch.count == batch.size) return batch.inputs;
  const std::uint64_t sample = model_.input().size();
  std::copy_n(batch.inputs, sample * batch.count, padded_->data());
  std::fill_n(padded_->data() + sample * batch.count, sample * (batch.size - batch.count), 0.0F);
  return padded_->data();
}

PlanBuffers Network::buffers(std::span<const float> parameters, std::span<float> gradient) {
  return {model_, plan_, arena_->data(), input_, parameters.data(), gradient.data()};
}

Strides Network::strides(const Pass& pass) const {
  const std::uint64_t classes = model_.classes(), labels = model_.labels();
  if (scores().order == Order::lanes) {
    return {.sample = 1, .score = labels * pass.lanes(), .label = pass.lanes()};
  }
  return {.sample = labels * classes, .score = 1, .label = classes};
}

}  // namespace steelyard::nn
