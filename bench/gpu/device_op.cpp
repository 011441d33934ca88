#include "bench/gpu/device_op.h"

#include <array>
#include <cmath>
#include <variant>

namespace steelyard::bench {

using namespace nn::cuda;
using nn::Storage;

namespace {

std::unique_ptr<nn::Op> make_op(const OpCase& of, const nn::OpPlace& place, const Context& context) {
  if (of.is_fused()) {
    return make_batch_norm(std::get<nn::BatchNorm>(of.kind), place, {.add = true, .relu = true}, context);
  }
  return std::visit([&](const auto& op) { return nn::cuda::make(op, place, context); }, of.kind);
}

}  // namespace

DeviceOp::DeviceOp(const OpCase& of, const OpRun& material, std::uint32_t samples, Precision precision)
    : samples_(samples),
      storage_(storage_of(precision)),
      products_(stream_, precision),
      numbers_(1),
      positions_(samples),
      context_{stream_, products_, numbers_.data(), positions_.data(), nullptr, nn::largest_micro_batch} {
  const nn::OpPlace place{.inputs = of.inputs,
                          .output = of.output(),
                          .micro_batch = samples,
                          .precision = precision,
                          .storage = storage_};
  op_ = make_op(of, place, context_);
  const PinnedArray<BatchNumbers> numbers(1);
  const PinnedArray<std::uint64_t> positions(samples);
  *numbers.data() = {.count = samples};
  for (std::uint32_t s = 0; s < samples; ++s) positions.data()[s] = s;
  stream_.copy_array(numbers_.data(), numbers.data(), 1);
  stream_.copy_array(positions_.data(), positions.data(), samples);
  make_buffers(of, material);
  stream_.synchronize();
}

void DeviceOp::make_buffers(const OpCase& of, const OpRun& material) {
  const bool rows = std::holds_alternative<nn::Embedding>(of.kind);  // row numbers have no gradient
  for (const auto values : material.inputs()) {
    const std::uint64_t size = values.size() / nn::largest_micro_batch * samples_;
    inputs_.push_back(filled(values, size, rows ? Storage::float32 : storage_));
    d_inputs_.push_back(poisoned(size, storage_));
    input_values_.push_back(inputs_.back().data());
    to_inputs_.push_back({rows ? nullptr : d_inputs_.back().data()});
  }
  for (const auto values : material.parameters()) {
    parameters_.push_back(filled(values, values.size(), Storage::float32));
    d_parameters_.push_back(poisoned(values.size(), Storage::float32));
    parameter_values_.push_back(parameters_.back().data());
    to_parameters_.push_back(d_parameters_.back().data());
  }
  const std::uint64_t out = of.output().size() * samples_;
  output_.push_back(poisoned(out, storage_));
  output_.push_back(filled(material.d_output(), out, storage_));
  output_.push_back(poisoned(op_->traits().workspace, Storage::float32));
}

DeviceOp::Numbers DeviceOp::filled(std::span<const float> with, std::uint64_t size, Storage storage) {
  Numbers made{size, storage, DeviceMemory(size * bytes_of(storage))};
  const PinnedMemory pinned(made.memory.bytes());
  in_storage(storage, [&](auto number) {
    auto* const to = static_cast<decltype(number)*>(pinned.data());
    for (std::uint64_t i = 0; i < size; ++i) to[i] = with[i % with.size()];
  });
  stream_.copy(made.data(), pinned.data(), pinned.bytes());
  stream_.synchronize();
  return made;
}

DeviceOp::Numbers DeviceOp::poisoned(std::uint64_t size, Storage storage) {
  return filled(std::array{NAN}, size, storage);
}

std::vector<float> DeviceOp::fetched(const Numbers& from) {
  const PinnedMemory pinned(from.memory.bytes());
  stream_.copy(pinned.data(), from.data(), pinned.bytes());
  stream_.synchronize();
  return in_storage(from.storage, [&](auto number) {
    const auto* const at = static_cast<const decltype(number)*>(pinned.data());
    return std::vector<float>(at, at + from.size);
  });
}

void DeviceOp::add_passes() {
  const nn::MicroBatch constants{.size = samples_, .count = UINT32_MAX};
  const nn::Pass pass{constants, true};
  op_->forward(pass, {input_values_, parameter_values_, output_[0].data(), output_[2].data()});
  op_->backward(pass, {input_values_, parameter_values_, output_[0].data(), output_[1].data(), to_inputs_,
                       to_parameters_, false, output_[2].data()});
}

std::vector<OpResult> DeviceOp::results() {
  std::vector<OpResult> all{{"output", fetched(output_[0])}};
  for (std::size_t i = 0; i < d_inputs_.size(); ++i) {
    if (to_inputs_[i].to == nullptr) continue;
    all.push_back({"gradient of input " + std::to_string(i), fetched(d_inputs_[i])});
  }
  for (std::size_t i = 0; i < d_parameters_.size(); ++i) {
    all.push_back({"gradient of parameter " + std::to_string(i), fetched(d_parameters_[i])});
  }
  return all;
}

}  // namespace steelyard::bench
