// Messages <-> frames. A message is a header frame and at most one payload frame:
//
//   header: 'S' 'Y' | protocol u16 | receiver u8 | kind u8 | fields, little-endian
//
// Only messages with `senders` can be encoded; messages to pseudo-nodes stay in the process. decode() accepts
// untrusted bytes: it allocates no more than their size, and returns Damage if they are invalid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "protocol/machine.h"

namespace steelyard {

// Defined in protocol_version.cpp, so that tests can link a program of another version.
extern const std::uint16_t protocol_version;
// Bytes. The longest headers are those of a Welcome with a large layout, and of a Save in a job with many
// workers, because it contains the policy's state.
inline constexpr std::size_t largest_header = 16 << 20;

struct Frames {
  std::vector<std::byte> header;
  std::optional<Blob> payload;
};
Frames encode(const Message& message);

struct Damage {
  std::string why;
};
// Decodes a message that arrived at a node of role `receiver`.
std::variant<Message, VersionMismatch, Damage> decode(Role receiver, std::span<const std::byte> header,
                                                      Blob payload);

}  // namespace steelyard
