// Encodings of floats for slow connections: fewer bits a value, and the same value on average.
//
//   float32   unchanged
//   bf16      the upper 16 bits of each, little-endian
//   int8      blocks of 256 values: a float32 scale s = max|x| / 127, little-endian; then a byte for each
//             value, its code c, from -127 to 127; it stands for c * s
//   int4      the same with s = max|x| / 7 and c from -7 to 7, two codes in a byte, the low nibble first
//
// So int4 takes 4.125 bits a value. The last block may be shorter.
//
// With a key, values are rounded up or down at random, with the probability that makes the expected value
// exact; the draw is a hash of the key and the value's place. So a push has the same bytes whenever and on
// whichever worker it is made, and no worker has to keep rounding errors. Without a key, values are rounded
// to the nearest, ties to even. Blocks after Dettmers et al., "8-bit optimizers via block-wise quantization"
// (2022); 4 bits for differences of local steps after Streaming DiLoCo (Douillard et al. 2025).
//
// A block with a value that is not finite has NaN as its scale, so its decoded values are not finite either.
// bf16 keeps such values.
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

// Names in the order of FloatCode.
const std::vector<std::string>& float_code_names();

// Size of an encoded list of values, in bytes.
[[nodiscard]] std::size_t coded_bytes(FloatCode code, std::size_t values);
// Bytes of a long list, relative to float32.
[[nodiscard]] double coded_share(FloatCode code);

[[nodiscard]] Blob encode(FloatCode code, std::span<const float> values,
                          std::optional<std::uint64_t> key = {});
// Decodes into the values. Returns false if the bytes are invalid: a wrong length, a negative scale, or the
// code -128 or -8. Untrusted bytes of any alignment are allowed.
[[nodiscard]] bool decode(FloatCode code, std::span<const std::byte> bytes, std::span<float> values);
// The same, added to `base`, with identical results on every machine. All three have one length.
[[nodiscard]] bool add_decoded(FloatCode code, std::span<const std::byte> bytes, std::span<const float> base,
                               std::span<float> values);

}  // namespace steelyard
