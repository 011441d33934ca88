// Picture files, PNG and JPEG: the content decides which, not the name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "worker/data/pictures/picture_format.h"

namespace steelyard {

// Whether the file begins like a PNG or JPEG picture; false if it cannot be read.
bool is_picture(const std::filesystem::path& file);
// Whether the name of a file ends like that of a PNG or JPEG picture.
bool has_picture_name(const std::filesystem::path& file);
// "WebP" for a name that ends with .webp: a kind of picture that is not read. Empty for other names.
std::string unread_picture_kind(const std::filesystem::path& file);

// Writes format.bytes() bytes, channels last: the middle of the picture, in the proportions of the format,
// scaled to its size. Throws Failure (io), which names the file. Callable from several threads.
void read_picture(const std::string& file, const PictureFormat& format, std::uint8_t* into);
// For the content of the file.
void decode_picture(const std::string& file, std::span<const std::uint8_t> bytes, const PictureFormat& format,
                    std::uint8_t* into);

}  // namespace steelyard
