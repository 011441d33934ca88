// In what the factors of matrix products and convolutions are multiplied. Sums, and all that is kept or sent,
// are float32 in any case.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

// bf16: bfloat16, a float32 without its last 16 bits, so numbers of 8 significant bits. Where a processor
// cannot multiply it (cpu_has_bf16), and in kernels that have no form for it, float32.
enum class Precision : std::uint8_t { float32, bf16 };

inline const std::vector<std::string>& precision_names() {  // in the order of the enumerators
  static const std::vector<std::string> names{"float32", "bf16"};
  return names;
}
// Of a name that is one of them.
inline Precision precision(std::string_view name) {
  return name == precision_names()[0] ? Precision::float32 : Precision::bf16;
}

}  // namespace steelyard
