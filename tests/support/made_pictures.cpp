#include "tests/support/made_pictures.h"

#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>
#include <png.h>

#include <steelyard/hash.h>

#include <string_view>

namespace steelyard::test {

std::vector<std::uint8_t> png_of(const Pixels& pixels, const PngKind& kind) {
  constexpr int types[]{PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                        PNG_COLOR_TYPE_RGBA};
  std::vector<std::uint8_t> file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto write = [](png_structp to, png_bytep bytes, std::size_t size) {
    auto& all = *static_cast<std::vector<std::uint8_t>*>(png_get_io_ptr(to));
    all.insert(all.end(), bytes, bytes + size);
  };
  png_set_write_fn(png, &file, write, [](png_structp) {});
  png_set_IHDR(png, info, pixels.width, pixels.height, kind.bits, types[pixels.channels - 1],
               kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<std::uint8_t> exif = exif_of(kind.orientation);
  if (kind.orientation != 0) png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()), exif.data());
  const std::size_t row = std::size_t{pixels.width} * pixels.channels * static_cast<unsigned>(kind.bits) / 8;
  std::vector<png_bytep> rows;
  for (std::size_t y = 0; y < pixels.height; ++y)
    rows.push_back(const_cast<png_bytep>(pixels.bytes.data() + y * row));
  png_set_rows(png, info, rows.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::vector<std::uint8_t> jpeg_of(const Pixels& pixels, const JpegKind& kind) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = pixels.width;
  info.image_height = pixels.height;
  info.input_components = static_cast<int>(pixels.channels);
  info.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : pixels.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, kind.quality, TRUE);
  if (kind.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  if (kind.orientation != 0) {
    constexpr std::string_view mark("Exif\0\0", 6);
    std::vector<std::uint8_t> marker(mark.begin(), mark.end());
    const std::vector<std::uint8_t> exif = exif_of(kind.orientation);
    marker.insert(marker.end(), exif.begin(), exif.end());
    jpeg_write_marker(&info, JPEG_APP0 + 1, marker.data(), static_cast<unsigned>(marker.size()));
  }
  for (std::size_t y = 0; y < pixels.height; ++y) {
    auto* row = const_cast<JSAMPROW>(pixels.bytes.data() + y * pixels.width * pixels.channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::vector<std::uint8_t> file(bytes, bytes + size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return file;
}

std::vector<std::uint8_t> exif_of(unsigned orientation, bool little) {
  std::vector<std::uint8_t> bytes;
  const auto append = [&](std::uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i)
      bytes.push_back(static_cast<std::uint8_t>(value >> 8 * (little ? i : size - 1 - i)));
  };
  bytes = {static_cast<std::uint8_t>(little ? 'I' : 'M'), static_cast<std::uint8_t>(little ? 'I' : 'M')};
  append(42, 2);
  append(8, 4);  // where the directory begins
  append(2, 2);  // entries
  append(0x010F, 2);
  append(2, 2);
  append(4, 4);
  append(0, 4);
  append(0x0112, 2);
  append(3, 2);
  append(1, 4);
  append(orientation, 2);
  append(0, 2);
  append(0, 4);
  return bytes;
}

Pixels flat(std::uint32_t height, std::uint32_t width, const std::vector<std::uint8_t>& pixel) {
  Pixels pixels{height, width, static_cast<std::uint32_t>(pixel.size()), {}};
  for (std::uint64_t i = 0; i < std::uint64_t{height} * width; ++i)
    pixels.bytes.insert(pixels.bytes.end(), pixel.begin(), pixel.end());
  return pixels;
}

Pixels patterned(std::uint32_t height, std::uint32_t width, std::uint64_t seed) {
  Pixels pixels{height, width, 3, {}};
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const auto value = static_cast<std::uint8_t>(hash(seed, y / 4, x / 4) % 100);
      const auto high = static_cast<std::uint8_t>(150 + value), low = static_cast<std::uint8_t>(value / 2);
      const bool above = 2 * y < height;
      for (const std::uint8_t it : {above ? high : low, value, above ? low : high})
        pixels.bytes.push_back(it);
    }
  }
  return pixels;
}

}  // namespace steelyard::test
