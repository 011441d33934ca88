#include "worker/data/byte_floats.h"

#include "core/check.h"

namespace steelyard {

ByteFloats::ByteFloats(const Normalization& by, std::size_t channels, Level level)
    : kernels_(&at_level(level, baseline::byte_kernels, v3::byte_kernels, v4::byte_kernels)) {
  CHECK(channels == 1 || channels == 3, "pictures are grey, or have three colours");
  for (std::size_t channel = 0; channel < channels; ++channel)
    tables_.push_back(floats_of_bytes(by, channel));
  for (std::size_t i = 0; i < byte_line; ++i) {
    const std::size_t channel = by.mean.size() == 1 ? 0 : i % channels;
    scales_[i] = 1 / (255 * by.deviation.at(channel));
    offsets_[i] = -by.mean.at(channel) / by.deviation.at(channel);
  }
  computed_ = kernels_agree();
}

// Every byte in every place of a line, and in every plane.
bool ByteFloats::kernels_agree() const {
  constexpr std::size_t bytes = 256;
  std::vector<std::uint8_t> from(bytes * byte_line), planes(3 * bytes);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i / byte_line);
  for (std::size_t i = 0; i < planes.size(); ++i) planes[i] = static_cast<std::uint8_t>(i);
  std::vector<float> values(from.size()), pixels(planes.size());
  kernels_->lines(from.data(), bytes, scales_.data(), offsets_.data(), values.data());
  kernels_->planes(planes.data(), bytes, scales_.data(), offsets_.data(), pixels.data());
  bool agree = true;
  for (std::size_t i = 0; i < values.size(); ++i)
    agree = agree && values[i] == tables_[i % channels()][from[i]];
  for (std::size_t i = 0; i < pixels.size(); ++i)
    agree = agree && pixels[i] == tables_[i % channels()][i / 3];
  return agree;
}

void ByteFloats::look_up(const std::uint8_t* bytes, std::size_t count, float* into) const {
  for (std::size_t at = 0; at < count; at += channels()) {
    for (std::size_t channel = 0; channel < channels(); ++channel)
      into[at + channel] = tables_[channel][bytes[at + channel]];
  }
}

void ByteFloats::convert(const std::uint8_t* bytes, std::size_t count, float* into) const {
  const std::size_t lines = computed_ ? count / byte_line : 0, done = lines * byte_line;
  if (lines > 0) kernels_->lines(bytes, lines, scales_.data(), offsets_.data(), into);
  look_up(bytes + done, count - done, into + done);
}

void ByteFloats::convert_planes(const std::uint8_t* bytes, std::size_t pixels, float* into) const {
  if (channels() == 1) return convert(bytes, pixels, into);
  if (computed_ && pixels % byte_block == 0)
    return kernels_->planes(bytes, pixels, scales_.data(), offsets_.data(), into);
  for (std::size_t at = 0; at < pixels; ++at) {
    for (std::size_t channel = 0; channel < channels(); ++channel)
      *into++ = tables_[channel][bytes[channel * pixels + at]];
  }
}

}  // namespace steelyard
