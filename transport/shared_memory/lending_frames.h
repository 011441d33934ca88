// What the links of two processes say to each other, beside the messages of their nodes, so that a payload
// need not travel between processes of one host: its bytes stay where they are, and the other side reads them
// there (transport/shared_memory/shared_memory_transfer.h).
//
//   frame: 'S' 'L' | protocol u16 | kind u8 | fields, little-endian
//
// decode_lending() takes bytes from outside, as decode() does (protocol/codec.h).
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/segment.h"
#include "protocol/codec.h"

namespace steelyard {

enum class Reading : std::uint8_t { untried, possible, impossible };

// First words of each side: try to read this segment of mine. And how the trial of the other side's went.
struct Introduction {
  std::uint32_t process = 0;  // its number in /proc; 0: it neither lends nor borrows
  std::uint32_t descriptor = 0;
  SegmentName segment{};
  Reading reading = Reading::untried;
};

// Where the payload of a message lies: in this segment of the sender. It stays as it is until the lease is
// returned or the connection ends.
struct Loan {
  std::uint64_t lease = 0;    // the sender's number for it
  std::uint64_t segment = 0;  // SegmentName::number
  std::uint32_t descriptor = 0;
  std::uint64_t offset = 0, size = 0;  // bytes of the segment's values; none: the message has no payload
};
struct LentMessage {
  Loan loan{};
  std::span<const std::byte> header;  // as encode() makes it; a view
};

// What has gathered: one frame costs as much as another, whatever is in it.
struct Batch {
  std::vector<std::uint64_t> returned{};  // leases of payloads that nobody reads any more
  std::vector<LentMessage> messages{};    // in order
};

using LendingFrame = std::variant<Introduction, Batch>;

// Whether a header frame is one of these. A message's header never is.
bool is_lending(std::span<const std::byte> frame);
std::vector<std::byte> encode_lending(const LendingFrame& said);
std::variant<LendingFrame, Damage> decode_lending(std::span<const std::byte> frame);

}  // namespace steelyard
