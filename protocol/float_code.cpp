#include "protocol/float_code.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "core/random.h"

namespace steelyard {
namespace {

static_assert(std::endian::native == std::endian::little, "codes are little-endian");

constexpr std::size_t block = 256;  // values with one scale

// 24 random bits in [0, 1): the precision of a float.
float draw(std::uint64_t key, std::size_t place) {
  return static_cast<float>(mix(key + place) >> 40) * 0x1.0p-24F;
}

float rounded(float value, std::optional<std::uint64_t> key, std::size_t place) {
  return key ? std::floor(value + draw(*key, place)) : std::nearbyint(value);
}

std::uint16_t upper_half(float value, std::optional<std::uint64_t> key, std::size_t place) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (!std::isfinite(value)) return static_cast<std::uint16_t>(bits >> 16 | (std::isnan(value) ? 0x40 : 0));
  const std::uint32_t even = 0x7FFF + (bits >> 16 & 1);
  const std::uint32_t up = key ? static_cast<std::uint32_t>(mix(*key + place) >> 48) : even;
  const std::uint32_t upper = (bits + up) & 0xFFFF0000;
  // The largest finite numbers stay finite.
  return static_cast<std::uint16_t>((std::isfinite(std::bit_cast<float>(upper)) ? upper : bits) >> 16);
}

std::size_t bytes_of_block(FloatCode code, std::size_t values) {
  return sizeof(float) + (code == FloatCode::int8 ? values : (values + 1) / 2);
}

int largest_code(FloatCode code) { return code == FloatCode::int8 ? 127 : 7; }

float scale_of(std::span<const float> values, int largest) {
  float most = 0;
  bool finite = true;
  for (const float value : values) {
    most = std::max(most, std::abs(value));
    finite = finite && std::isfinite(value);
  }
  if (!finite) return std::numeric_limits<float>::quiet_NaN();
  const float scale = most / static_cast<float>(largest);
  // The largest finite numbers stay finite.
  return std::isfinite(scale * static_cast<float>(largest)) ? scale : std::nextafter(scale, 0.0F);
}

// The values from `place` on.
void encode_block(FloatCode code, std::span<const float> values, std::optional<std::uint64_t> key,
                  std::size_t place, std::uint8_t* out) {
  const int largest = largest_code(code);
  const float scale = scale_of(values, largest);
  std::memcpy(out, &scale, sizeof(scale));
  out += sizeof(scale);
  if (code == FloatCode::int4) std::fill_n(out, (values.size() + 1) / 2, std::uint8_t{0});
  if (!(scale > 0)) {
    if (code == FloatCode::int8) std::fill_n(out, values.size(), std::uint8_t{0});
    return;
  }
  const auto most = static_cast<float>(largest);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float units = std::clamp(rounded(values[i] / scale, key, place + i), -most, most);
    const auto its = static_cast<std::uint8_t>(static_cast<int>(units));
    if (code == FloatCode::int8) {
      out[i] = its;
    } else {
      out[i / 2] |= static_cast<std::uint8_t>((its & 0xF) << (i % 2 * 4));
    }
  }
}

bool decode_block(FloatCode code, const std::uint8_t* in, std::span<float> values) {
  float scale = 0;
  std::memcpy(&scale, in, sizeof(scale));
  in += sizeof(scale);
  if (std::signbit(scale) && !std::isnan(scale)) return false;
  const int largest = largest_code(code);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int its = code == FloatCode::int8 ? static_cast<std::int8_t>(in[i])
                                            : static_cast<std::int8_t>(in[i / 2] << (4 - i % 2 * 4)) >> 4;
    if (its < -largest) return false;
    values[i] = static_cast<float>(its) * scale;
  }
  return true;
}

}  // namespace

const std::vector<std::string>& float_code_names() {
  static const std::vector<std::string> names{"float32", "bf16", "int8", "int4"};
  return names;
}

std::size_t coded_bytes(FloatCode code, std::size_t values) {
  if (code == FloatCode::float32) return values * sizeof(float);
  if (code == FloatCode::bf16) return values * sizeof(std::uint16_t);
  const std::size_t rest = values % block;
  return values / block * bytes_of_block(code, block) + (rest > 0 ? bytes_of_block(code, rest) : 0);
}

double coded_share(FloatCode code) {
  return static_cast<double>(coded_bytes(code, block)) / (block * sizeof(float));
}

Blob encode(FloatCode code, std::span<const float> values, std::optional<std::uint64_t> key) {
  if (code == FloatCode::float32) return Blob::copy_of(values);
  auto bytes = std::make_shared<std::vector<std::uint8_t>>(coded_bytes(code, values.size()));
  std::uint8_t* out = bytes->data();
  for (std::size_t at = 0; at < values.size(); at += block) {
    const std::span<const float> part = values.subspan(at, std::min(block, values.size() - at));
    if (code == FloatCode::bf16) {
      for (std::size_t i = 0; i < part.size(); ++i, out += 2) {
        const std::uint16_t half = upper_half(part[i], key, at + i);
        std::memcpy(out, &half, sizeof(half));
      }
    } else {
      encode_block(code, part, key, at, out);
      out += bytes_of_block(code, part.size());
    }
  }
  const std::span<const std::uint8_t> view(*bytes);
  return {std::move(bytes), std::as_bytes(view)};
}

bool decode(FloatCode code, std::span<const std::byte> bytes, std::span<float> values) {
  if (bytes.size() != coded_bytes(code, values.size())) return false;
  if (code == FloatCode::float32) {
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return true;
  }
  const auto* in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (code == FloatCode::bf16) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t half = 0;
      std::memcpy(&half, in + 2 * i, sizeof(half));
      values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
    }
    return true;
  }
  for (std::size_t at = 0; at < values.size(); at += block) {
    const std::span<float> part = values.subspan(at, std::min(block, values.size() - at));
    if (!decode_block(code, in, part)) return false;
    in += bytes_of_block(code, part.size());
  }
  return true;
}

bool add_decoded(FloatCode code, std::span<const std::byte> bytes, std::span<const float> base,
                 std::span<float> values) {
  if (base.size() != values.size() || !decode(code, bytes, values)) return false;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += base[i];
  return true;
}

}  // namespace steelyard
