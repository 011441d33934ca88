// How floats are coded where lines are slow: fewer bits a value, and on average the same value.
//
//   float32   as they are
//   bf16      the upper 16 bits of each, little-endian
//   int8      blocks of 256 values: a float32 scale s = max|x| / 127, little-endian; then a byte for each
//             value, its code c, from -127 to 127; it stands for c * s
//   int4      the same with s = max|x| / 7 and c from -7 to 7, two codes in a byte, the low nibble first
//
// So int4 takes 4.125 bits a value. The last block is as long as what is left.
//
// With a key, values are rounded up or down at random, up with the probability that makes the expected value
// the value itself; the draw is a hash of the key and the value's place. So the same push has the same bytes
// whenever and by whomever it is made, and no worker has to keep what was rounded away. Without a key they
// are rounded to the nearest, ties to even. Blocks after Dettmers et al., "8-bit optimizers via block-wise
// quantization" (2022); 4 bits for what local steps push after Streaming DiLoCo (Douillard et al. 2025).
//
// A block with a value that is not finite has NaN for a scale, so whoever decodes it gets what is not finite,
// too. bf16 keeps such values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/blob.h"

namespace steelyard {

enum class FloatCode : std::uint8_t { float32, bf16, int8, int4 };

// In the order of FloatCode.
const std::vector<std::string>& float_code_names();

// Bytes of so many values.
[[nodiscard]] std::size_t coded_bytes(FloatCode code, std::size_t values);
// Bytes of many values, as a share of those of float32.
[[nodiscard]] double coded_share(FloatCode code);

[[nodiscard]] Blob encode(FloatCode code, std::span<const float> values,
                          std::optional<std::uint64_t> key = {});
// Writes the values. False if the bytes are no code of so many values: of another length, with a scale below
// zero, or with the code -128 or -8. Bytes come from outside and may have any alignment.
[[nodiscard]] bool decode(FloatCode code, std::span<const std::byte> bytes, std::span<float> values);
// The same, added to `base`, in the same way everywhere. All three are equally long.
[[nodiscard]] bool add_decoded(FloatCode code, std::span<const std::byte> bytes, std::span<const float> base,
                               std::span<float> values);

}  // namespace steelyard
