// JPEG pictures, by libjpeg-turbo: baseline and progressive, in grey, colours, or CMYK.
//
// Large pictures are scaled down by 2, 4 or 8 while they are decoded, which takes a fraction of the time. The
// Exif orientation is applied. Colour profiles are ignored; CMYK is converted without one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "worker/data/pictures/picture_format.h"

namespace steelyard {

bool is_jpeg(std::span<const std::uint8_t> bytes);

// Writes format.bytes() bytes, channels last. Throws Failure (io), which names `file`, for damaged and
// truncated pictures, and beyond the limits of picture_format.h. Callable from several threads.
void decode_jpeg(const std::string& file, std::span<const std::uint8_t> bytes, const PictureFormat& format,
                 std::uint8_t* into);

}  // namespace steelyard
