// The orientation of a photograph: cameras store pictures as the sensor lies, and write in the Exif data how
// to turn them (JEITA CP-3451, tag 0x0112).
#pragma once

#include <cstdint>
#include <span>

#include "worker/data/pictures/picture_format.h"

namespace steelyard {

// 1: as stored; 2: mirrored; 3: turned by 180 degrees; 4: both; 5 to 8: rows and columns are exchanged.
// `exif`: the TIFF header and what follows. Damaged data, or none: 1.
unsigned exif_orientation(std::span<const std::uint8_t> exif);

// The format before turning.
PictureFormat stored_format(unsigned orientation, const PictureFormat& format);
// Turns a picture of stored_format() to one of `format`.
void turn(unsigned orientation, const std::uint8_t* stored, const PictureFormat& format, std::uint8_t* into);

}  // namespace steelyard
