#include "bench/feed/made_data.h"

// libjpeg's header needs the types of <cstdio>.
#include <cstdio>

#include <jpeglib.h>

#include <cstring>
#include <memory>

#include "bench/pairs.h"
#include "core/random.h"
#include "tests/support/made_pictures.h"
#include "worker/data/data_sets.h"

namespace steelyard::bench {
namespace {

constexpr unsigned pictures = 64, picture_height = 240, picture_width = 320;

std::vector<std::uint8_t> random_bytes(std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes(count);
  Random random(seed);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next() >> 56);
  return bytes;
}

std::vector<std::uint8_t> with_head(std::vector<std::uint8_t> head, const std::vector<std::uint8_t>& rest) {
  head.insert(head.end(), rest.begin(), rest.end());
  return head;
}

}  // namespace

MadeBytes MadeBytes::cifar() {
  constexpr std::uint64_t record = 3073, in_file = 10'000;
  MadeBytes it;
  it.planes_ = true;
  it.between_ = record;
  it.before_ = 1;
  for (std::uint64_t part = 1; part <= 5; ++part) {
    std::vector<std::uint8_t> bytes = random_bytes(record * in_file, part);
    for (std::uint64_t i = 0; i < in_file; ++i) bytes[i * record] %= 10;
    it.folder_->write("data_batch_" + std::to_string(part) + ".bin", bytes);
    if (part == 1) it.folder_->write("test_batch.bin", bytes);
    it.pixels_.insert(it.pixels_.end(), bytes.begin(), bytes.end());
  }
  it.sets_ = open_data("cifar-10", {{"dir", it.folder_->path().string()}, {"crop", "4"}, {"flip", "true"}});
  return it;
}

MadeBytes MadeBytes::mnist() {
  MadeBytes it;
  it.between_ = 784;
  it.pixels_ = random_bytes(784 * 60'000, 6);
  std::vector<std::uint8_t> labels = random_bytes(60'000, 7);
  for (std::uint8_t& label : labels) label %= 10;
  for (const char* part : {"train", "t10k"}) {
    it.folder_->write(std::string(part) + "-images-idx3-ubyte",
                      with_head({0, 0, 8, 3, 0, 0, 0xEA, 0x60, 0, 0, 0, 28, 0, 0, 0, 28}, it.pixels_));
    it.folder_->write(std::string(part) + "-labels-idx1-ubyte",
                      with_head({0, 0, 8, 1, 0, 0, 0xEA, 0x60}, labels));
  }
  it.sets_ = open_data("idx", {{"dir", it.folder_->path().string()}});
  return it;
}

bool MadeBytes::is_window(const float* sample, const std::uint8_t* pixels, int down, int right,
                          bool flipped) const {
  const nn::Shape shape = sets_.train->shape();
  const int height = static_cast<int>(shape.height), width = static_cast<int>(shape.width);
  const auto channels = static_cast<std::size_t>(shape.channels);
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const int y = row + down, x = (flipped ? width - 1 - column : column) + right;
      const bool inside = y >= 0 && y < height && x >= 0 && x < width;
      const auto pixel = static_cast<std::size_t>(y * width + x);
      for (std::size_t c = 0; c < channels; ++c, ++sample) {
        const std::size_t at = planes_ ? c * shape.height * shape.width + pixel : pixel * channels + c;
        const double raw = inside ? pixels[at] / 255.0 : 0;
        const double mean = sets_.normalization.mean[c], deviation = sets_.normalization.deviation[c];
        if (*sample != static_cast<float>((raw - mean) / deviation)) return false;
      }
    }
  }
  return true;
}

void MadeBytes::check(const nn::MicroBatch& batch) const {
  const Permutation order(sets_.train->size(), hash(batch.seed, batch.epoch));
  const int most = static_cast<int>(sets_.augmentation.crop);
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    const std::uint8_t* const pixels = pixels_.data() + order(batch.positions[i]) * between_ + before_;
    const float* const sample = batch.inputs + i * sets_.train->shape().size();
    int found = 0;
    for (int down = -most; down <= most; ++down) {
      for (int right = -most; right <= most; ++right) {
        found += is_window(sample, pixels, down, right, false) ? 1 : 0;
        found += sets_.augmentation.flip && is_window(sample, pixels, down, right, true) ? 1 : 0;
      }
    }
    expect(found == 1, "feed: a sample differs from its bytes, normalised one by one");
  }
}

MadePictures::MadePictures() {
  for (unsigned i = 0; i < pictures; ++i) {
    files_.push_back(test::jpeg_of(test::patterned(picture_height, picture_width, i), {.quality = 90}));
    folder_.write("train/class" + std::to_string(i % 2) + "/" + std::to_string(i) + ".jpg", files_.back());
    if (i < 2) folder_.write("test/class" + std::to_string(i) + "/0.jpg", files_.back());
  }
  sets_ = open_data("pictures", {{"train", folder_.path("train")},
                                 {"test", folder_.path("test")},
                                 {"size", "[96, 96]"},
                                 {"threads", "1"},
                                 {"cache", "0"}});
}

std::uint64_t MadePictures::decode_bare() const {
  std::vector<std::uint8_t> row(std::size_t{picture_width} * 3);
  for (const std::vector<std::uint8_t>& file : files_) {
    jpeg_decompress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, file.data(), file.size());
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_RGB;
    info.scale_num = 4;  // of 8: the smallest scale that leaves 96 rows
    info.scale_denom = 8;
    jpeg_start_decompress(&info);
    expect(info.output_height == picture_height / 2, "feed: libjpeg-turbo scales pictures to another size");
    while (info.output_scanline < info.output_height) {
      JSAMPROW to = row.data();
      jpeg_read_scanlines(&info, &to, 1);
    }
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
  }
  return files_.size();
}

}  // namespace steelyard::bench
