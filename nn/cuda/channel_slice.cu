// Bound by memory: one sweep in both directions; backward writes the zeros beside the slice on the way.
#include "nn/cuda/columns.h"
#include "nn/cuda/in_samples.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

template <unsigned n>
__global__ void put_back(std::uint32_t all, std::uint32_t channels, std::uint32_t begin, std::uint32_t length,
                         const float* d_output, float* d_input) {
  const unsigned i = n * thread_in_sample();
  if (i >= all) return;
  const unsigned place = i / channels, c = i - place * channels - begin;  // before the slice it wraps
  const std::uint64_t sample = blockIdx.y, places = all / channels;
  Pack<n> values{};
  if (c < length) values = load<n>(d_output + (sample * places + place) * length + c);
  store<n>(d_input + sample * all + i, values);
}

class ChannelSliceOp final : public Op {
 public:
  ChannelSliceOp(const ChannelSlice& op, Shape in, const Context& context)
      : places_(std::uint64_t{in.height} * in.width),
        channels_(in.channels),
        begin_(op.begin),
        length_(op.end - op.begin),
        context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    copy_columns(context_.stream, {pass.size(), places_, length_}, call.inputs[0] + begin_, channels_, false,
                 call.output, length_);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    if (d_input.add) {
      copy_columns(context_.stream, {pass.size(), places_, length_}, call.d_output, length_, true,
                   d_input.to + begin_, channels_);
      return;
    }
    const std::uint64_t all = places_ * channels_;
    with_packs(can_pack(channels_ | begin_ | length_, call.d_output, d_input.to), [&](auto n) {
      launch_in_samples(context_.stream, pass.size(), all / n, &put_back<n>, all, channels_, begin_, length_,
                        call.d_output, d_input.to);
    });
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  std::uint64_t places_;
  std::uint32_t channels_, begin_, length_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const ChannelSlice& op, const OpPlace& place, const Context& context) {
  return std::make_unique<ChannelSliceOp>(op, place.inputs[0], context);
}

}  // namespace steelyard::nn::cuda
