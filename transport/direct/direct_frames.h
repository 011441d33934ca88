// Frames by which two links agree on a direct connection (transport/direct/direct_lines.h). They travel
// through the sockets that connect the links already.
//
//   frame: 'S' 'D' | protocol u16 | kind u8 | fields, little-endian
//
// decode_direct() takes untrusted bytes, as decode() does (protocol/codec.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "protocol/codec.h"
#include "transport/direct/direct_socket.h"

namespace steelyard {

// The connecting side: its first frame. Where can this process connect directly?
struct DirectRequest {};
// The listening side: here, with this number as the first packet. It identifies the connection that the
// request came through.
struct DirectAnswer {
  DirectName place{};
  DirectName ticket{};
};
using DirectFrame = std::variant<DirectRequest, DirectAnswer>;

// Whether a header frame is one of these. Headers of messages never are.
bool is_direct_frame(std::span<const std::byte> frame);
std::vector<std::byte> encode_direct(const DirectFrame& said);
std::variant<DirectFrame, Damage> decode_direct(std::span<const std::byte> frame);

}  // namespace steelyard
