// ByteFloats: the bytes of pictures as inputs: byte / 255, normalised channel by channel (normalization.h).
//
// The result has the bits of floats_of_bytes(), on every machine. It is computed as byte * scale + offset in
// double precision, many values at once. If for any byte this is not the same float, which is rare but
// possible for some mean and deviation, values are looked up in the table.
//
// Constant after construction: any thread may convert.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/processor.h"
#include "worker/data/byte_kernels.h"
#include "worker/data/normalization.h"

namespace steelyard {

class ByteFloats {
 public:
  // 1 channel or 3.
  explicit ByteFloats(const Normalization& by, std::size_t channels, Level level = cpu_level());

  [[nodiscard]] std::size_t channels() const { return tables_.size(); }
  // Bytes and floats have their channels last; `count`, a multiple of the channels, includes all of them.
  void convert(const std::uint8_t* bytes, std::size_t count, float* into) const;
  // The bytes are one plane of `pixels` bytes for each channel; floats have their channels last.
  void convert_planes(const std::uint8_t* bytes, std::size_t pixels, float* into) const;

  // Whether values are computed; otherwise they are looked up.
  [[nodiscard]] bool computed() const { return computed_; }

 private:
  void look_up(const std::uint8_t* bytes, std::size_t count, float* into) const;
  [[nodiscard]] bool kernels_agree() const;

  const ByteKernels* kernels_;
  std::vector<std::array<float, 256>> tables_;  // by channel
  std::array<double, byte_line> scales_{}, offsets_{};
  bool computed_ = false;
};

}  // namespace steelyard
