// Protobuf: writes one message in the wire format of protocol buffers, field by field
// (https://protobuf.dev/programming-guides/encoding). Fields are written in the order of the calls; a repeated
// field is one call for each element.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace steelyard {

class Protobuf {
 public:
  // A field of an integer type. Negative numbers take ten bytes, as the format prescribes.
  Protobuf& number(std::uint32_t field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  // A field of type float.
  Protobuf& real(std::uint32_t field, float value) {
    key(field, 5);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift);
    return *this;
  }
  // A field of type string or bytes.
  Protobuf& text(std::uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Protobuf& message(std::uint32_t field, const Protobuf& value) { return text(field, value.bytes_); }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void key(std::uint32_t field, std::uint32_t type) { varint(field << 3U | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>(value | 0x80U);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace steelyard
