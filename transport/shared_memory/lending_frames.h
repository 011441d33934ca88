// Frames between the links of two processes on one host, by which payloads are not sent: their bytes stay
// where they are, and the other side reads them there (transport/shared_memory/shared_memory_transfer.h).
//
//   frame: 'S' 'L' | protocol u16 | kind u8 | fields, little-endian
//
// decode_lending() takes untrusted bytes, as decode() does (protocol/codec.h).
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/device_exchange.h"
#include "core/segment.h"
#include "protocol/codec.h"

namespace steelyard {

enum class Reading : std::uint8_t { untried, possible, impossible };

// The first frame of each side: a segment, and memory of a device, for the other side to test, and the
// results of the own tests.
struct Introduction {
  std::uint32_t process = 0;  // PID; 0: it neither lends nor borrows
  std::uint32_t descriptor = 0;
  SegmentName segment{};
  Reading reading = Reading::untried;
  DevicePlace device{};  // without bytes: it neither lends nor borrows there
  Reading device_reading = Reading::untried;
};

// Where the payload of a message lies: in this segment of the sender, or in the memory of its device. It is
// unchanged until the lease is returned or the connection closes.
struct Loan {
  std::uint64_t lease = 0;    // the sender's number for it
  std::uint64_t segment = 0;  // SegmentName::number
  std::uint32_t descriptor = 0;
  std::uint64_t offset = 0, size = 0;  // bytes of the segment's values; size 0: no payload there
  DevicePlace device{};                // with bytes: the payload is there, and not in a segment
};
struct LentMessage {
  Loan loan{};
  std::span<const std::byte> header;  // made by encode(); a view
};

// Pending messages and leases. The cost of a frame hardly depends on its contents.
struct Batch {
  std::vector<std::uint64_t> returned{};  // leases of payloads that are no longer read
  std::vector<LentMessage> messages{};    // in order
};

using LendingFrame = std::variant<Introduction, Batch>;

// Whether a header frame is one of these. Headers of messages never are.
bool is_lending(std::span<const std::byte> frame);
std::vector<std::byte> encode_lending(const LendingFrame& said);
std::variant<LendingFrame, Damage> decode_lending(std::span<const std::byte> frame);

}  // namespace steelyard
