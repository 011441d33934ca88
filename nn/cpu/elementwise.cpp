#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "core/random.h"
#include "nn/cpu/kernel_calls.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/storage.h"
#include "nn/op_table.h"

namespace steelyard::nn::cpu {
namespace {

// Whether the derivative needs the input; for the others the output is enough.
bool reads_input(Activation::Kind kind) {
  return kind == Activation::Kind::gelu || kind == Activation::Kind::gelu_tanh ||
         kind == Activation::Kind::silu || kind == Activation::Kind::hard_swish;
}

template <class T>
const ActivationTableOf<T>& activation_kernels() {
  if constexpr (std::is_same_v<T, float>) {
    return at_level(cpu_level(), baseline::activation, v3::activation, v4::activation);
  } else {
    return at_level(cpu_level(), baseline::activation_bf16, v3::activation_bf16, v4::activation_bf16);
  }
}

// T: the type of stored activations, here and below.
template <class T>
class ActivationOp final : public DirectOp {
 public:
  ActivationOp(const Activation& op, const OpPlace& place)
      : kernels_(activation_kernels<T>()),
        kind_(static_cast<std::size_t>(op.kind)),
        reads_input_(reads_input(op.kind)),
        features_(place.output.size()),
        order_(place.order) {}

  void forward(const Pass& pass, const Forward& call) override {
    kernels_.forward[kind_](features_ * pass.places(order_), stored<T>(call.inputs[0]),
                            stored<T>(call.output));
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    const auto& functions = d_input.add ? kernels_.add_backward : kernels_.backward;
    functions[kind_](features_ * pass.places(order_), stored<T>(reads_input_ ? call.inputs[0] : call.output),
                     stored<T>(call.d_output), stored<T>(d_input.to));
  }

  [[nodiscard]] Traits traits() const override {
    return {.in_place = !reads_input_,
            .d_in_place = true,
            .reads_inputs = reads_input_,
            .reads_output = !reads_input_,
            .adds = true};
  }

 private:
  const ActivationTableOf<T>& kernels_;
  std::size_t kind_;
  bool reads_input_;
  std::uint64_t features_;
  Order order_;
};

template <class T>
class AddOp final : public DirectOp {
 public:
  AddOp(const Add& /*op*/, const OpPlace& place) : features_(place.output.size()), order_(place.order) {}

  void forward(const Pass& pass, const Forward& call) override {
    sum(features_ * pass.places(order_), stored<T>(call.inputs[0]), stored<T>(call.inputs[1]),
        stored<T>(call.output));
  }

  // Both gradients are d_output. A gradient in d_output's buffer is already complete; it is doubled if a
  // value is added to itself.
  void backward(const Pass& pass, const Backward& call) override {
    const std::size_t size = features_ * pass.places(order_);
    const T* const d_output = stored<T>(call.d_output);
    for (const InputGradient& d_input : call.d_inputs) {
      T* const to = stored<T>(d_input.to);
      if (to == nullptr || (to == d_output && !d_input.add)) continue;
      if (d_input.add) {
        sum(size, to, d_output, to);
      } else {
        std::copy_n(d_output, size, to);
      }
    }
  }

  [[nodiscard]] Traits traits() const override { return in_place_traits; }

 private:
  static void sum(std::size_t size, const T* a, const T* b, T* to) {
    if constexpr (std::is_same_v<T, float>) {
      rows_kernels().sum(size, a, b, to);
    } else {
      storage_kernels().sum(size, a, b, to);
    }
  }

  std::uint64_t features_;
  Order order_;
};

class ScaleOp final : public DirectOp {
 public:
  ScaleOp(const Scale& /*op*/, const OpPlace& place)
      : kernels_(at_level(cpu_level(), baseline::scale, v3::scale, v4::scale)),
        pixels_(pixels_of(place.output)),
        channels_(place.output.channels),
        unwanted_(channels_) {
    CHECK(place.order == Order::samples, "channels are scaled in the order of samples");
  }

  void forward(const Pass& pass, const Forward& call) override {
    for (std::size_t s = 0; s < pass.size(); ++s) {
      const std::size_t at = s * pixels_ * channels_;
      kernels_.forward(pixels_, channels_, call.inputs[0] + at, call.inputs[1] + s * channels_,
                       call.output + at);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_a = call.d_inputs[0], d_factors = call.d_inputs[1];
    for (std::size_t s = 0; s < pass.size(); ++s) {
      const std::size_t at = s * pixels_ * channels_;
      float* const sums = d_factors.to == nullptr ? unwanted_.data() : d_factors.to + s * channels_;
      if (!d_factors.add) std::fill_n(sums, channels_, 0.0F);
      kernels_.backward(pixels_, channels_, call.inputs[0] + at, call.inputs[1] + s * channels_,
                        call.d_output + at, d_a.add, d_a.to == nullptr ? nullptr : d_a.to + at, sums);
    }
  }

  // If a vector is scaled, d_output is read after the sums for the factors have begun.
  [[nodiscard]] Traits traits() const override { return {.d_in_place = pixels_ > 1, .adds = true}; }
  [[nodiscard]] std::uint64_t bytes() const override { return channels_ * sizeof(float); }

 private:
  const ScaleTable& kernels_;
  std::size_t pixels_, channels_;
  std::vector<float> unwanted_;  // sums that are not needed
};

class DropoutOp final : public DirectOp {
 public:
  DropoutOp(const Dropout& op, const OpPlace& place)
      : shape_(place.output),
        key_(place.key),
        order_(place.order),
        dropped_(static_cast<std::uint32_t>(std::lround(op.probability * 65536))),
        scale_(static_cast<float>(1 / (1 - op.probability))) {}

  void forward(const Pass& pass, const Forward& call) override {
    drop(pass, call.inputs[0], false, call.output);
  }
  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to != nullptr) drop(pass, call.d_output, d_input.add, d_input.to);
  }

  [[nodiscard]] Traits traits() const override { return in_place_traits; }

 private:
  void drop(const Pass& pass, const float* from, bool add, float* to) {
    const std::uint32_t places = pass.places(order_);
    if (!pass.training) {
      if (to != from) std::copy_n(from, shape_.size() * places, to);
      return;
    }
    keys_.assign(places, 0);
    for (std::uint32_t s = 0; s < pass.size(); ++s) {
      keys_[s] = hash(pass.batch.seed, pass.batch.epoch, pass.batch.positions[s], key_);
    }
    const std::uint64_t pixels = pixels_of(shape_);
    const DropoutSweep sweep{pixels, shape_.channels, places, keys_.data(), dropped_, scale_};
    if (order_ == Order::lanes) return drop_in_lanes(sweep, from, add, to);
    drop_in_samples(sweep, from, add, to);
  }

  Shape shape_;
  std::uint64_t key_;
  Order order_;
  std::uint32_t dropped_;  // of 65536
  float scale_;
  std::vector<std::uint64_t> keys_;  // of the samples of this call
};

}  // namespace

std::unique_ptr<Op> make(const Activation& op, const OpPlace& place) {
  return in_storage(place.storage, [&](auto number) -> std::unique_ptr<Op> {
    return std::make_unique<ActivationOp<decltype(number)>>(op, place);
  });
}

std::unique_ptr<Op> make(const Add& op, const OpPlace& place) {
  return in_storage(place.storage, [&](auto number) -> std::unique_ptr<Op> {
    return std::make_unique<AddOp<decltype(number)>>(op, place);
  });
}

STEELYARD_OP(Scale, ScaleOp)
STEELYARD_OP(Dropout, DropoutOp)

}  // namespace steelyard::nn::cpu
