// Picture files for tests, written by the libraries that also read them.
#pragma once

#include <cstdint>
#include <vector>

namespace steelyard::test {

// Rows of pixels, channels last. PNG: 1 grey, 2 grey and alpha, 3 colours, 4 colours and alpha; JPEG: 1 grey,
// 3 colours, 4 inks.
struct Pixels {
  std::uint32_t height = 1, width = 1, channels = 3;
  std::vector<std::uint8_t> bytes{};  // of 16 bits: two for each value, the high one first
};

struct PngKind {
  int bits = 8;
  bool interlaced = false;
  unsigned orientation = 0;  // Exif; 0: none
};
std::vector<std::uint8_t> png_of(const Pixels& pixels, const PngKind& kind = {});

struct JpegKind {
  int quality = 98;
  bool progressive = false;
  unsigned orientation = 0;
};
std::vector<std::uint8_t> jpeg_of(const Pixels& pixels, const JpegKind& kind = {});

// Exif data with an orientation; `little`: the byte order.
std::vector<std::uint8_t> exif_of(unsigned orientation, bool little = true);

// All pixels of one colour.
Pixels flat(std::uint32_t height, std::uint32_t width, const std::vector<std::uint8_t>& pixel);
// Reddish above and bluish below, with a pattern that depends on the seed.
Pixels patterned(std::uint32_t height, std::uint32_t width, std::uint64_t seed);

}  // namespace steelyard::test
