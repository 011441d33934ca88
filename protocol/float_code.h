// Encodings of floats with fewer bits per value, for slow connections.
//
//   float32   unchanged
//   bf16      the upper 16 bits of each value, little-endian
//   int8      blocks of 256 values x: a float32 scale s = max|x| / 127, little-endian; then one byte per
//             value, a code c from -127 to 127, which decodes to c * s
//   int4      the same with s = max|x| / 7 and c from -7 to 7, two codes in a byte, the low nibble first
//
// So int8 takes 8.125 bits per value, and int4 4.125. The last block may be shorter.
//
// With a key, values are rounded up or down at random, with probabilities that make the expected value exact.
// The random number is a hash of the key and the value's index. So a push has the same bytes whichever worker
// makes it, and workers keep no rounding errors. Without a key, values are rounded to the nearest, ties to
// even. Blocks follow Dettmers et al., "8-bit optimizers via block-wise quantization" (2022); 4 bits for
// differences of local steps follow Streaming DiLoCo (Douillard et al. 2025).
//
// If a block has a value that is not finite, its scale is NaN, and so are all its decoded values. bf16 keeps
// such values.
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

// Size in bytes of this number of encoded values.
[[nodiscard]] std::size_t coded_bytes(FloatCode code, std::size_t values);
// Size of a long encoded list, relative to float32.
[[nodiscard]] double coded_share(FloatCode code);

// `key`: see above.
[[nodiscard]] Blob encode(FloatCode code, std::span<const float> values,
                          std::optional<std::uint64_t> key = {});
// Decodes into `values`. Returns false if the bytes are invalid: a wrong length, a negative scale, or the
// code -128 or -8. The bytes may be untrusted and of any alignment.
[[nodiscard]] bool decode(FloatCode code, std::span<const std::byte> bytes, std::span<float> values);
// Writes base + the decoded values, with the same bits on every machine. `base` and `values` have one length.
[[nodiscard]] bool add_decoded(FloatCode code, std::span<const std::byte> bytes, std::span<const float> base,
                               std::span<float> values);

}  // namespace steelyard
