// In what the factors of matrix products and convolutions are multiplied. Sums, and all that is kept or sent,
// are float32 in any case.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

// bf16: bfloat16, a float32 without its last 16 bits, so numbers of 8 significant bits. Where a processor
// cannot multiply it (cpu_has_bf16), and in kernels that have no form for it, float32.
// tf32: TensorFloat-32, the range of a float32 with 11 significant bits, which tensor cores of CUDA devices
// multiply. No processor does: a worker that computes on one is refused it.
enum class Precision : std::uint8_t { float32, bf16, tf32 };

inline const std::vector<std::string>& precision_names() {  // in the order of the enumerators
  static const std::vector<std::string> names{"float32", "bf16", "tf32"};
  return names;
}
inline const std::string& name(Precision precision) {
  return precision_names()[static_cast<std::size_t>(precision)];
}
// Of a name that is one of them.
inline Precision precision(std::string_view name) {
  return static_cast<Precision>(std::ranges::find(precision_names(), name) - precision_names().begin());
}

}  // namespace steelyard
