// Frames between two links, which their nodes never see. Headers of messages never begin like one.
//
//   frame: 'S' | letter | protocol u16 | kind u8 | fields, little-endian
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "protocol/archive.h"
#include "protocol/codec.h"

namespace steelyard {

// Whether a header frame is one of this letter.
inline bool is_link_frame(char letter, std::span<const std::byte> frame) {
  return frame.size() >= 2 && frame[0] == std::byte{'S'} && frame[1] == static_cast<std::byte>(letter);
}

// Writes everything before the fields.
inline void begin_link_frame(Writer& writer, char letter, std::size_t kind) {
  writer(std::uint8_t{'S'}, static_cast<std::uint8_t>(letter), protocol_version,
         static_cast<std::uint8_t>(kind));
}

// Takes untrusted bytes, as decode() does (protocol/codec.h). get(kind, reader) reads the fields, and throws
// Malformed if they are not those of a frame.
template <class Frame, class Get>
std::variant<Frame, Damage> decode_link_frame(char letter, std::span<const std::byte> frame, Get get) {
  if (!is_link_frame(letter, frame)) return Damage{"is not a link frame"};
  try {
    Reader reader(frame.subspan(2), {});
    std::uint16_t protocol = 0;
    std::uint8_t kind = 0;
    reader(protocol);
    if (protocol != protocol_version) return Damage{"is of another protocol"};
    reader(kind);
    Frame said = get(kind, reader);
    if (reader.remaining() != 0) return Damage{"is longer than its fields"};
    return said;
  } catch (const Malformed& damage) {
    return Damage{damage.what()};
  }
}

}  // namespace steelyard
