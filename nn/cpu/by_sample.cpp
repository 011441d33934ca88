#include "nn/cpu/by_sample.h"

#include <algorithm>
#include <string>
#include <vector>

#include "nn/cpu/storage.h"

namespace steelyard::nn::cpu {
namespace {

class BySample final : public Op {
 public:
  BySample(const OpPlace& place, bool numbers,
           const std::function<std::unique_ptr<Op>(const OpPlace& place)>& make)
      : place_(place), numbers_(numbers) {
    OpPlace one = place;
    one.storage = Storage::float32;
    one.micro_batch = 1;
    for (std::uint32_t s = 0; s < place.micro_batch; ++s) ops_.push_back(make(one));
    inner_ = ops_[0]->traits();
    workspace_ = whole_lines(inner_.workspace);
    for (const Shape& shape : place.inputs) inputs_.push_back(taken(shape));
    for (const Shape& shape : place.inputs) d_inputs_.push_back(taken(shape));
    output_ = taken(place.output);
    d_output_ = taken(place.output);
  }

  void forward(const Pass& pass, const Forward& call) override {
    float* const output = call.workspace + output_;
    for (std::uint32_t s = 0; s < pass.size(); ++s) {
      const MicroBatch one = alone(pass.batch, s);
      const std::vector<const float*> inputs = widened(call.inputs, s, call.workspace);
      ops_[s]->forward({one, pass.training, pass.renewed}, {inputs, call.parameters, output, call.workspace});
      storage_kernels().narrow(place_.output.size(), output,
                               stored<Bf16Bits>(call.output) + s * place_.output.size());
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    for (std::uint32_t s = 0; s < pass.size(); ++s) {
      const MicroBatch one = alone(pass.batch, s);
      backward_of(s, {one, pass.training, pass.renewed}, call);
    }
  }

  // A sample's gradient is widened before that of its inputs is stored, so these may share a buffer.
  [[nodiscard]] Traits traits() const override {
    return {.in_place = inner_.in_place,
            .d_in_place = true,
            .reads_inputs = inner_.reads_inputs,
            .reads_output = inner_.reads_output,
            .adds = true,
            .workspace = workspace_};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return ops_.size() * ops_[0]->bytes(); }
  [[nodiscard]] std::string implementation() const override {
    return ops_[0]->implementation() + " by samples";
  }

 private:
  static std::uint64_t whole_lines(std::uint64_t floats) { return (floats + 15) / 16 * 16; }

  // The place of one sample's activation in the workspace.
  std::uint64_t taken(Shape shape) {
    const std::uint64_t at = workspace_;
    workspace_ += whole_lines(shape.size());
    return at;
  }

  static MicroBatch alone(const MicroBatch& all, std::uint32_t sample) {
    MicroBatch one = all;
    if (all.positions != nullptr) one.positions += sample;
    one.size = 1;
    one.count = sample < all.count ? 1 : 0;
    return one;
  }

  [[nodiscard]] std::vector<const float*> widened(std::span<const float* const> from, std::uint32_t sample,
                                                  float* workspace) const {
    std::vector<const float*> all;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const std::uint64_t size = place_.inputs[i].size();
      float* const to = workspace + inputs_[i];
      if (!numbers_) storage_kernels().widen(size, stored<Bf16Bits>(from[i]) + sample * size, to);
      all.push_back(numbers_ ? from[i] + sample * size : to);
    }
    return all;
  }

  void backward_of(std::uint32_t sample, const Pass& pass, const Backward& call) {
    const std::uint64_t size = place_.output.size(), at = sample * size;
    std::vector<const float*> inputs(inputs_.size());
    if (inner_.reads_inputs) inputs = widened(call.inputs, sample, call.workspace);
    float *const output = call.workspace + output_, *const d_output = call.workspace + d_output_;
    if (inner_.reads_output) storage_kernels().widen(size, stored<Bf16Bits>(call.output) + at, output);
    storage_kernels().widen(size, stored<Bf16Bits>(call.d_output) + at, d_output);
    std::vector<InputGradient> to;
    for (std::size_t i = 0; i < d_inputs_.size(); ++i)
      to.push_back({call.d_inputs[i].to == nullptr ? nullptr : call.workspace + d_inputs_[i]});
    ops_[sample]->backward(pass, {inputs, call.parameters, output, d_output, to, call.d_parameters,
                                  call.add || sample > 0, call.workspace});
    for (std::size_t i = 0; i < to.size(); ++i) give(i, sample, to[i].to, call.d_inputs[i]);
  }

  void give(std::size_t input, std::uint32_t sample, const float* from, const InputGradient& d_input) const {
    if (from == nullptr) return;
    const std::uint64_t size = place_.inputs[input].size();
    if (numbers_) {  // row numbers have no gradient
      if (!d_input.add) std::fill_n(d_input.to + sample * size, size, 0.0F);
      return;
    }
    const auto move = d_input.add ? storage_kernels().add_narrow : storage_kernels().narrow;
    move(size, from, stored<Bf16Bits>(d_input.to) + sample * size);
  }

  const OpPlace place_;
  const bool numbers_;
  std::vector<std::unique_ptr<Op>> ops_;  // of each sample
  Traits inner_;
  std::uint64_t workspace_ = 0;                   // floats
  std::vector<std::uint64_t> inputs_, d_inputs_;  // places in the workspace
  std::uint64_t output_ = 0, d_output_ = 0;
};

}  // namespace

std::unique_ptr<Op> by_sample(const OpPlace& place, bool numbers,
                              const std::function<std::unique_ptr<Op>(const OpPlace& place)>& make) {
  return std::make_unique<BySample>(place, numbers, make);
}

}  // namespace steelyard::nn::cpu
