#include "worker/data/pictures/jpeg_picture.h"

// libjpeg's header needs the types of <cstdio>.
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "worker/data/pictures/error_jump.h"
#include "worker/data/pictures/orientation.h"
#include "worker/data/pictures/resampler.h"

namespace steelyard {
namespace {

constexpr int most_scans = 200;  // of a progressive picture: each scan takes the time of a whole picture
// A block of 64 pixels takes at least a bit. The memory of a progressive picture is taken before its data are
// read.
constexpr std::uint64_t most_pixels_a_byte = 1024;
constexpr std::string_view exif_mark("Exif\0\0", 6);

class JpegReader {
 public:
  JpegReader(const std::string& file, std::span<const std::uint8_t> bytes)
      : file_(file), size_(bytes.size()) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr info) {
      char text[JMSG_LENGTH_MAX];
      (*info->err->format_message)(info, text);
      self(info).jump_.fail(text);
    };
    errors_.emit_message = [](j_common_ptr info, int level) {
      const int code = info->err->msg_code;
      if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) self(info).cut_ = true;
    };
    errors_.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = [](j_common_ptr info) {
      if (self(info).info_.input_scan_number > most_scans) self(info).jump_.fail("too many scans");
    };
    info_.client_data = this;
    call([&] {
      jpeg_create_decompress(&info_);
      info_.client_data = this;
      info_.progress = &progress_;
      jpeg_mem_src(&info_, bytes.data(), bytes.size());
      jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xFFFF);
      jpeg_read_header(&info_, TRUE);
    });
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  [[nodiscard]] unsigned orientation() const {
    for (auto marker = info_.marker_list; marker != nullptr; marker = marker->next) {
      const std::span<const std::uint8_t> data(marker->data, marker->data_length);
      const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
      if (text.starts_with(exif_mark)) return exif_orientation(data.subspan(exif_mark.size()));
    }
    return 1;
  }

  // Chooses the smallest size that is no smaller than the target.
  void start(const PictureFormat& to) {
    require_size(file_, info_.image_width, info_.image_height);
    if (std::uint64_t{info_.image_width} * info_.image_height / most_pixels_a_byte > size_)
      refuse_picture(file_, "the picture is truncated or damaged");
    const bool inks = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = inks ? JCS_CMYK : to.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    info_.scale_num = 8;
    info_.scale_denom = 8;
    for (const unsigned eighths : {4U, 2U, 1U}) {
      const bool covers = std::uint64_t{info_.image_width} * eighths >= std::uint64_t{to.columns} * 8 &&
                          std::uint64_t{info_.image_height} * eighths >= std::uint64_t{to.rows} * 8;
      if (covers) info_.scale_num = eighths;
    }
    call([&] { jpeg_start_decompress(&info_); });
    inks_ = inks;
    row_.resize(std::size_t{info_.output_width} * static_cast<unsigned>(info_.output_components));
  }
  [[nodiscard]] std::uint32_t height() const { return info_.output_height; }
  [[nodiscard]] std::uint32_t width() const { return info_.output_width; }

  // The next row, in grey or colours.
  const std::uint8_t* row(std::uint32_t channels) {
    call([&] {
      JSAMPROW to = row_.data();
      jpeg_read_scanlines(&info_, &to, 1);
    });
    if (cut_) refuse_picture(file_, "the picture is truncated or damaged");
    if (inks_) convert_inks(channels);
    return row_.data();
  }

 private:
  static JpegReader& self(j_common_ptr info) { return *static_cast<JpegReader*>(info->client_data); }

  template <class Work>
  void call(const Work& work) {
    if (jump_.completes(work)) return;
    jpeg_destroy_decompress(&info_);  // here, because a constructor that throws has no destructor
    refuse_picture(file_, std::string("the JPEG picture cannot be decoded (") + jump_.message() + ')');
  }

  // In place: a pixel has four bytes before, and one or three after. Adobe's programs store inks inverted.
  void convert_inks(std::uint32_t channels) {
    std::uint8_t* to = row_.data();
    for (std::uint32_t x = 0; x < info_.output_width; ++x) {
      std::uint32_t light[4];
      for (std::uint32_t i = 0; i < 4; ++i)
        light[i] = info_.saw_Adobe_marker ? row_[4 * x + i] : 255U - row_[4 * x + i];
      for (std::uint32_t i = 0; i < 3; ++i) light[i] = (light[i] * light[3] + 127) / 255;
      if (channels == 1) {
        *to++ = grey_of(light[0], light[1], light[2]);
      } else {
        for (std::uint32_t i = 0; i < 3; ++i) *to++ = static_cast<std::uint8_t>(light[i]);
      }
    }
  }

  const std::string& file_;
  const std::uint64_t size_;
  ErrorJump jump_;
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
  bool cut_ = false;   // data was missing, which libjpeg replaces by grey
  bool inks_ = false;  // CMYK
  std::vector<std::uint8_t> row_;
};

}  // namespace

bool is_jpeg(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 && bytes[2] == 0xFF;
}

void decode_jpeg(const std::string& file, std::span<const std::uint8_t> bytes, const PictureFormat& format,
                 std::uint8_t* into) {
  JpegReader reader(file, bytes);
  const unsigned orientation = reader.orientation();
  const PictureFormat stored = stored_format(orientation, format);
  reader.start(stored);
  Resampler resampler(reader.height(), reader.width(), stored);
  for (std::uint32_t y = 0; y < resampler.end_row(); ++y) {
    const std::uint8_t* const row = reader.row(format.channels);
    if (y >= resampler.first_row()) resampler.add(y, row);
  }
  std::vector<std::uint8_t> pixels(format.bytes());
  resampler.finish(pixels.data());
  turn(orientation, pixels.data(), format, into);
}

}  // namespace steelyard
