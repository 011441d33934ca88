// PNG pictures, by libpng: all kinds of the format (ISO/IEC 15948), with 16 bits rounded to 8.
//
// Transparent pictures are shown on white, as on paper. The Exif orientation is applied if it comes before
// the pixels. Colour profiles and gamma are ignored.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "worker/data/pictures/picture_format.h"

namespace steelyard {

bool is_png(std::span<const std::uint8_t> bytes);

// As decode_jpeg() (jpeg_picture.h).
void decode_png(const std::string& file, std::span<const std::uint8_t> bytes, const PictureFormat& format,
                std::uint8_t* into);

}  // namespace steelyard
