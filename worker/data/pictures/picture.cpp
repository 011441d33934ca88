#include "worker/data/pictures/picture.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "worker/data/pictures/jpeg_picture.h"
#include "worker/data/pictures/png_picture.h"

namespace steelyard {
namespace {

constexpr std::uint64_t most_file_bytes = std::uint64_t{1} << 30;
constexpr const char* convert = "convert it to PNG or JPEG, or remove the file";

constexpr std::array read_endings{".png", ".jpg", ".jpeg"};
constexpr std::array unread_endings{
    std::pair{".webp", "WebP"}, std::pair{".gif", "GIF"},       std::pair{".bmp", "BMP"},
    std::pair{".tif", "TIFF"},  std::pair{".tiff", "TIFF"},     std::pair{".heic", "HEIC"},
    std::pair{".avif", "AVIF"}, std::pair{".jp2", "JPEG 2000"}, std::pair{".jxl", "JPEG XL"},
    std::pair{".ppm", "PPM"},   std::pair{".pgm", "PGM"},       std::pair{".svg", "SVG"}};

std::string ending_of(const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  for (char& c : ending) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return ending;
}

// The kind of a picture by its first bytes; empty: unknown.
std::string kind_of(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), 64UL));
  const auto part = [&](std::size_t at, std::size_t size) {
    return text.size() < at ? std::string_view() : text.substr(at, size);
  };
  if (part(0, 4) == "RIFF" && part(8, 4) == "WEBP") return "WebP";
  if (part(0, 4) == "GIF8") return "GIF";
  if (part(0, 2) == "BM") return "BMP";
  if (part(0, 4) == std::string_view("II*\0", 4) || part(0, 4) == std::string_view("MM\0*", 4)) return "TIFF";
  if (part(4, 8) == "ftypavif") return "AVIF";
  if (part(4, 4) == "ftyp") return "HEIC";
  return {};
}

std::vector<std::uint8_t> bytes_in(const std::string& file) {
  std::error_code trouble;
  if (!std::filesystem::is_regular_file(file, trouble))
    refuse_picture(file, "does not exist, or is not a file", "correct its path");
  const std::uint64_t size = std::filesystem::file_size(file, trouble);
  if (!trouble && size > most_file_bytes) {
    refuse_picture(file, "it has " + std::to_string(size) + " bytes, and a picture has at most " +
                             std::to_string(most_file_bytes));
  }
  std::ifstream stream(file, std::ios::binary);
  std::vector<std::uint8_t> bytes(trouble ? 0 : size);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (trouble || !stream || static_cast<std::uint64_t>(stream.gcount()) != size)
    refuse_picture(file, "it cannot be read", "check its permissions and the disk");
  return bytes;
}

}  // namespace

void refuse_picture(const std::string& file, const std::string& trouble, const std::string& remedy) {
  throw Failure(ExitCode::io, file + ": " + trouble + ": " + remedy);
}

void require_size(const std::string& file, std::uint64_t width, std::uint64_t height) {
  if (width * height <= most_pixels && std::max(width, height) <= most_side) return;
  refuse_picture(file,
                 "it has " + std::to_string(width) + " x " + std::to_string(height) +
                     " pixels, and at most " + std::to_string(most_pixels) + " are read, and " +
                     std::to_string(most_side) + " on a side",
                 "make the picture smaller");
}

bool is_picture(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  std::array<std::uint8_t, 8> first{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(first.data()), first.size());
  const auto bytes = std::span(first).first(static_cast<std::size_t>(stream.gcount()));
  return is_png(bytes) || is_jpeg(bytes);
}

bool has_picture_name(const std::filesystem::path& file) {
  return std::ranges::find(read_endings, ending_of(file)) != read_endings.end();
}

std::string unread_picture_kind(const std::filesystem::path& file) {
  const auto found = std::ranges::find(unread_endings, ending_of(file),
                                       [](const auto& it) { return std::string(it.first); });
  return found == unread_endings.end() ? "" : found->second;
}

void read_picture(const std::string& file, const PictureFormat& format, std::uint8_t* into) {
  decode_picture(file, bytes_in(file), format, into);
}

void decode_picture(const std::string& file, std::span<const std::uint8_t> bytes, const PictureFormat& format,
                    std::uint8_t* into) {
  if (is_jpeg(bytes)) return decode_jpeg(file, bytes, format, into);
  if (is_png(bytes)) return decode_png(file, bytes, format, into);
  if (bytes.empty()) refuse_picture(file, "the file is empty");
  const std::string kind = kind_of(bytes);
  refuse_picture(file,
                 kind.empty() ? "it is neither a PNG nor a JPEG picture"
                              : "it is a " + kind + " picture, and only PNG and JPEG are read",
                 convert);
}

}  // namespace steelyard
