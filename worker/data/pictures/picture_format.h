// How a picture becomes a sample: its size and channels; and the errors about pictures.
#pragma once

#include <steelyard/shape.h>

#include <cstdint>
#include <string>

namespace steelyard {

struct PictureFormat {
  std::uint32_t rows = 32, columns = 32;
  std::uint32_t channels = 3;  // 3: red, green, blue; 1: grey

  [[nodiscard]] nn::Shape shape() const { return {rows, columns, channels}; }
  [[nodiscard]] std::uint64_t bytes() const { return shape().size(); }
};

// Limits of a picture file: its pixels may need as much memory, with four bytes each.
inline constexpr std::uint64_t most_pixels = std::uint64_t{1} << 27, most_side = 65'500;

// Throw Failure (io), which names the file: "cat.png: it is truncated: replace or remove the file".
[[noreturn]] void refuse_picture(const std::string& file, const std::string& trouble,
                                 const std::string& remedy = "replace or remove the file");
void require_size(const std::string& file, std::uint64_t width, std::uint64_t height);

// The grey value of a colour (ITU-R BT.601), as libjpeg computes it.
inline std::uint8_t grey_of(std::uint32_t red, std::uint32_t green, std::uint32_t blue) {
  return static_cast<std::uint8_t>((299 * red + 587 * green + 114 * blue + 500) / 1000);
}

}  // namespace steelyard
