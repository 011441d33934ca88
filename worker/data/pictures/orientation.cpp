#include "worker/data/pictures/orientation.h"

#include <algorithm>
#include <utility>

namespace steelyard {
namespace {

// Numbers in either byte order; 0 beyond the end.
class TiffBytes {
 public:
  TiffBytes(std::span<const std::uint8_t> bytes, bool little) : bytes_(bytes), little_(little) {}
  [[nodiscard]] std::uint64_t number(std::uint64_t at, unsigned size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return 0;
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value = value << 8 | bytes_[at + (little_ ? size - 1 - i : i)];
    return value;
  }

 private:
  const std::span<const std::uint8_t> bytes_;
  const bool little_;
};

bool exchanges_sides(unsigned orientation) { return orientation >= 5; }

}  // namespace

unsigned exif_orientation(std::span<const std::uint8_t> exif) {
  constexpr std::uint64_t tag = 0x0112, short_type = 3, entry = 12;
  if (exif.size() < 8 || exif[0] != exif[1] || (exif[0] != 'I' && exif[0] != 'M')) return 1;
  const TiffBytes tiff(exif, exif[0] == 'I');
  if (tiff.number(2, 2) != 42) return 1;
  const std::uint64_t directory = tiff.number(4, 4), entries = tiff.number(directory, 2);
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::uint64_t at = directory + 2 + i * entry;
    if (at >= exif.size()) break;
    if (tiff.number(at, 2) != tag || tiff.number(at + 2, 2) != short_type) continue;
    const std::uint64_t value = tiff.number(at + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<unsigned>(value) : 1;
  }
  return 1;
}

PictureFormat stored_format(unsigned orientation, const PictureFormat& format) {
  PictureFormat stored = format;
  if (exchanges_sides(orientation)) std::swap(stored.rows, stored.columns);
  return stored;
}

void turn(unsigned orientation, const std::uint8_t* stored, const PictureFormat& format, std::uint8_t* into) {
  if (orientation == 1) {
    std::copy_n(stored, format.bytes(), into);
    return;
  }
  const PictureFormat from = stored_format(orientation, format);
  const bool exchanged = exchanges_sides(orientation);
  // Whether the stored rows, and the stored columns, run the other way.
  const bool rows_back = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool columns_back = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  for (std::uint32_t y = 0; y < format.rows; ++y) {
    for (std::uint32_t x = 0; x < format.columns; ++x) {
      std::uint64_t row = exchanged ? x : y, column = exchanged ? y : x;
      if (rows_back) row = from.rows - 1 - row;
      if (columns_back) column = from.columns - 1 - column;
      into = std::copy_n(stored + (row * from.columns + column) * format.channels, format.channels, into);
    }
  }
}

}  // namespace steelyard
