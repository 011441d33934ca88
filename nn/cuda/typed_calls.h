// Calls of ops (nn/op.h), which address activations as floats, with the addresses as those of numbers of a
// type: float or Bf16.
//
//   void forward(const Pass& pass, const Forward& untyped) override {
//     const ForwardOf<T> call(untyped);
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "nn/cuda/bf16.h"
#include "nn/op.h"

namespace steelyard::nn::cuda {

template <class T>
class AddressesOf {
 public:
  explicit AddressesOf(std::span<const float* const> untyped) : untyped_(untyped) {}
  const T* operator[](std::size_t i) const { return reinterpret_cast<const T*>(untyped_[i]); }

 private:
  std::span<const float* const> untyped_;
};

template <class T>
struct ForwardOf {
  explicit ForwardOf(const Forward& call)
      : inputs(call.inputs),
        parameters(call.parameters),
        output(reinterpret_cast<T*>(call.output)),
        workspace(call.workspace),
        sum(reinterpret_cast<T*>(call.sum)) {}
  AddressesOf<T> inputs;
  std::span<const float* const> parameters;
  T* output;
  float* workspace;
  T* sum;
};

template <class T>
struct GradientOf {
  T* to;
  bool add;
};

template <class T>
class GradientsOf {
 public:
  explicit GradientsOf(std::span<const InputGradient> untyped) : untyped_(untyped) {}
  GradientOf<T> operator[](std::size_t i) const {
    return {reinterpret_cast<T*>(untyped_[i].to), untyped_[i].add};
  }
  [[nodiscard]] std::size_t size() const { return untyped_.size(); }

 private:
  std::span<const InputGradient> untyped_;
};

template <class T>
struct BackwardOf {
  explicit BackwardOf(const Backward& call)
      : inputs(call.inputs),
        parameters(call.parameters),
        output(reinterpret_cast<const T*>(call.output)),
        d_output(reinterpret_cast<T*>(call.d_output)),
        d_inputs(call.d_inputs),
        d_parameters(call.d_parameters),
        add(call.add),
        workspace(call.workspace) {}
  AddressesOf<T> inputs;
  std::span<const float* const> parameters;
  const T* output;
  T* d_output;
  GradientsOf<T> d_inputs;
  std::span<float* const> d_parameters;
  bool add;
  float* workspace;
};

// Defines make() for an op class that is a template over the type of its activations.
#define STEELYARD_STORED_OP(Kind, Class)                                                   \
  std::unique_ptr<Op> make(const Kind& op, const OpPlace& place, const Context& context) { \
    return in_storage(place.storage, [&](auto number) -> std::unique_ptr<Op> {             \
      return std::make_unique<Class<decltype(number)>>(op, place, context);                \
    });                                                                                    \
  }

}  // namespace steelyard::nn::cuda
