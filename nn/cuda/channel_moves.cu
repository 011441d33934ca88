// Ops that only move channels: bound by memory.
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {

// Shuffled channels: threads write adjacent numbers; their reads share a few cache lines.
namespace {

// Reads channels, as `groups` rows of this length, column by column.
template <class T>
__global__ void shuffle(std::uint32_t all, std::uint32_t groups, std::uint32_t length, const T* from,
                        bool add, T* to) {
  const unsigned i = thread_in_sample();
  if (i >= all) return;
  const unsigned channels = groups * length, c = i % channels;
  const std::uint64_t sample = std::uint64_t{blockIdx.y} * all;
  const float value = from[sample + i - c + c % groups * length + c / groups];
  to[sample + i] = add ? to[sample + i] + value : value;
}

template <class T>
class ChannelShuffleOp final : public CudaOp {
 public:
  ChannelShuffleOp(const ChannelShuffle& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        all_(static_cast<std::uint32_t>(place.output.size())),
        groups_(op.groups),
        length_(place.output.channels / op.groups) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    launch_in_samples(context_.stream, pass.size(), all_, &shuffle<T>, all_, groups_, length_, call.inputs[0],
                      false, call.output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    launch_in_samples(context_.stream, pass.size(), all_, &shuffle<T>, all_, length_, groups_, call.d_output,
                      add, to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  std::uint32_t all_, groups_, length_;  // all_: numbers per sample
};

// A slice: one sweep in each direction; backward also writes the zeros beside the slice.

template <unsigned n, class T>
__global__ void put_back(std::uint32_t all, std::uint32_t channels, std::uint32_t begin, std::uint32_t length,
                         const T* d_output, T* d_input) {
  const unsigned i = n * thread_in_sample();
  if (i >= all) return;
  const unsigned place = i / channels, c = i - place * channels - begin;  // before the slice it wraps
  const std::uint64_t sample = blockIdx.y, places = all / channels;
  Pack<n> values{};
  if (c < length) values = load<n>(d_output + (sample * places + place) * length + c);
  store<n>(d_input + sample * all + i, values);
}

template <class T>
class ChannelSliceOp final : public CudaOp {
 public:
  ChannelSliceOp(const ChannelSlice& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        places_(pixels_of(place.output)),
        channels_(place.inputs[0].channels),
        begin_(op.begin),
        length_(op.end - op.begin) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    copy_columns(context_.stream, {pass.size(), places_, length_}, call.inputs[0] + begin_, channels_, false,
                 call.output, length_);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const GradientOf<T> d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    if (d_input.add) {
      copy_columns(context_.stream, {pass.size(), places_, length_}, call.d_output, length_, true,
                   d_input.to + begin_, channels_);
      return;
    }
    const std::uint64_t all = places_ * channels_;
    with_packs(can_pack(channels_ | begin_ | length_, call.d_output, d_input.to), [&](auto n) {
      launch_in_samples(context_.stream, pass.size(), all / n, &put_back<n, T>, all, channels_, begin_,
                        length_, call.d_output, d_input.to);
    });
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  std::uint64_t places_;
  std::uint32_t channels_, begin_, length_;
};

// Concat: one copy per input.

template <class T>
class ConcatOp final : public CudaOp {
 public:
  ConcatOp(const Concat& /*op*/, const OpPlace& place, const Context& context)
      : CudaOp(context), places_(pixels_of(place.output)), channels_(place.output.channels) {
    for (const Shape& in : place.inputs) parts_.push_back(in.channels);
  }

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < parts_.size(); begin += parts_[i++]) {
      copy_columns(context_.stream, {pass.size(), places_, parts_[i]}, call.inputs[i], parts_[i], false,
                   call.output + begin, channels_);
    }
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < parts_.size(); begin += parts_[i++]) {
      const auto [to, add] = call.d_inputs[i];
      if (to == nullptr) continue;
      copy_columns(context_.stream, {pass.size(), places_, parts_[i]}, call.d_output + begin, channels_, add,
                   to, parts_[i]);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  std::uint64_t places_;
  std::uint32_t channels_;
  std::vector<std::uint32_t> parts_;  // channels of each input
};

}  // namespace

STEELYARD_STORED_OP(ChannelShuffle, ChannelShuffleOp)
STEELYARD_STORED_OP(ChannelSlice, ChannelSliceOp)
STEELYARD_STORED_OP(Concat, ConcatOp)

}  // namespace steelyard::nn::cuda
