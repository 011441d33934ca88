// Parameters for comparing the gradients of two networks that round differently.
#pragma once

#include <steelyard/model.h>

#include <algorithm>
#include <variant>
#include <vector>

namespace steelyard::nn {

// Rounding decides the sign of numbers near zero, so after many ReLUs the gradients of equal networks differ
// by percents. This makes norms produce numbers that are hardly ever negative. Models with SiLU have no such
// corners, and stay as they are.
inline void lift_norms(const Model& model, std::vector<float>& parameters) {
  const auto is_silu = [](const Node& node) {
    const auto* kind = std::get_if<Activation>(&node.kind);
    return kind != nullptr && kind->kind == Activation::Kind::silu;
  };
  if (std::ranges::any_of(model.nodes(), is_silu)) return;
  for (const Node& node : model.nodes()) {
    if (!std::holds_alternative<BatchNorm>(node.kind)) continue;
    const Tensor& bias = model.tensors()[node.tensors[1]];
    for (std::uint64_t i = 0; i < bias.size; ++i) parameters[bias.offset + i] += 3;
  }
}

}  // namespace steelyard::nn
