#include "worker/data/pictures/png_picture.h"

#include <png.h>

#include <algorithm>
#include <vector>

#include "worker/data/pictures/error_jump.h"
#include "worker/data/pictures/orientation.h"
#include "worker/data/pictures/resampler.h"

namespace steelyard {
namespace {

constexpr std::size_t pixel = 4;  // bytes: red, green, blue, alpha

class PngReader {
 public:
  PngReader(const std::string& file, std::span<const std::uint8_t> bytes) : file_(file), rest_(bytes) {
    const auto on_error = [](png_structp png, png_const_charp text) { self(png).jump_.fail(text); };
    const bool read = jump_.completes([&] {
      png_ =
          png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
      if (png_ == nullptr) jump_.fail("no memory");
      info_ = png_create_info_struct(png_);
      if (info_ == nullptr) jump_.fail("no memory");
      png_set_read_fn(png_, this, [](png_structp png, png_bytep into, std::size_t size) {
        std::span<const std::uint8_t>& rest = self_of_source(png).rest_;
        if (rest.size() < size) png_error(png, "the file is truncated");
        std::copy_n(rest.begin(), size, into);
        rest = rest.subspan(size);
      });
      png_set_user_limits(png_, most_side, most_side);
      png_read_info(png_, info_);
      png_set_scale_16(png_);
      png_set_expand(png_);
      png_set_gray_to_rgb(png_);
      png_set_add_alpha(png_, 0xFF, PNG_FILLER_AFTER);
      passes_ = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
    if (!read) fail();
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  // Call it before row().
  void start() {
    require_size(file_, width(), height());
    const std::size_t row = png_get_rowbytes(png_, info_);
    if (row != width() * pixel) refuse_picture(file_, "the PNG picture has an unknown kind of pixels");
    const std::size_t rows = passes_ == 1 ? 1 : height();  // an interlaced picture comes in passes
    pixels_.resize(rows * row);
    for (int pass = 0; passes_ > 1 && pass < passes_; ++pass) {
      for (std::size_t y = 0; y < rows; ++y) read_row(pixels_.data() + y * row);
    }
  }
  [[nodiscard]] std::uint32_t height() const { return png_get_image_height(png_, info_); }
  [[nodiscard]] std::uint32_t width() const { return png_get_image_width(png_, info_); }

  [[nodiscard]] unsigned orientation() {
    png_bytep exif = nullptr;
    png_uint_32 size = 0;
    const bool found = jump_.completes([&] { png_get_eXIf_1(png_, info_, &size, &exif); }) && exif != nullptr;
    return found ? exif_orientation({exif, size}) : 1;
  }

  // The rows in order, with an alpha channel.
  std::uint8_t* row(std::uint32_t y) {
    if (passes_ > 1) return pixels_.data() + y * width() * pixel;
    read_row(pixels_.data());
    return pixels_.data();
  }

 private:
  static PngReader& self(png_structp png) { return *static_cast<PngReader*>(png_get_error_ptr(png)); }
  static PngReader& self_of_source(png_structp png) { return *static_cast<PngReader*>(png_get_io_ptr(png)); }

  void read_row(std::uint8_t* into) {
    if (!jump_.completes([&] { png_read_row(png_, into, nullptr); })) fail();
  }
  // Also from the constructor, before which no destructor runs.
  [[noreturn]] void fail() {
    png_destroy_read_struct(&png_, &info_, nullptr);
    refuse_picture(file_, std::string("the PNG picture cannot be decoded (") + jump_.message() + ')');
  }

  const std::string& file_;
  std::span<const std::uint8_t> rest_;
  ErrorJump jump_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  std::vector<std::uint8_t> pixels_;  // one row; of an interlaced picture, all
};

// In place: a pixel has four bytes before, and one or three after.
void show_on_white(std::uint8_t* row, std::uint32_t width, std::uint32_t channels) {
  std::uint8_t* to = row;
  for (const std::uint8_t* from = row; from < row + width * pixel; from += pixel) {
    std::uint32_t light[3];
    for (std::size_t i = 0; i < 3; ++i) light[i] = (from[i] * from[3] + 255U * (255U - from[3]) + 127) / 255;
    if (channels == 1) {
      *to++ = grey_of(light[0], light[1], light[2]);
    } else {
      for (const std::uint32_t it : light) *to++ = static_cast<std::uint8_t>(it);
    }
  }
}

}  // namespace

bool is_png(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 8 && png_sig_cmp(bytes.data(), 0, 8) == 0;
}

void decode_png(const std::string& file, std::span<const std::uint8_t> bytes, const PictureFormat& format,
                std::uint8_t* into) {
  PngReader reader(file, bytes);
  reader.start();
  const unsigned orientation = reader.orientation();
  const PictureFormat stored = stored_format(orientation, format);
  Resampler resampler(reader.height(), reader.width(), stored);
  for (std::uint32_t y = 0; y < resampler.end_row(); ++y) {
    std::uint8_t* const row = reader.row(y);
    if (y < resampler.first_row()) continue;
    show_on_white(row, reader.width(), format.channels);
    resampler.add(y, row);
  }
  std::vector<std::uint8_t> pixels(format.bytes());
  resampler.finish(pixels.data());
  turn(orientation, pixels.data(), format, into);
}

}  // namespace steelyard
