// SharedMemoryTransfer: payloads of one connection between two processes of a host, without a copy.
//
// A payload in a segment (core/segment.h) is not sent; its *loan* is: the segment, an offset and a size. The
// other side maps the segment, and its node gets a message with the bytes in place. Each connection first
// tests whether that works: both sides introduce themselves, the connecting one first, and each reports
// whether it could read the other's segment. Between hosts, users or containers it cannot, and payloads are
// sent.
//
// Payloads in the memory of a device are lent in the same way, by their place there (core/device_exchange.h),
// if both sides have devices and each can read the other's. Otherwise they are copied to the host first.
//
// Messages to the other side are batched and sent in one frame before the node sleeps, or when the batch is
// full: a frame wakes four threads on its way, which costs more than its contents.
//
// The lender does not change a payload until
//  - the borrower returns the lease, after the last copy of the blob is released there; or
//  - the connection closes, for any cause. Whether the other side still reads is then unknown, so the segment
//    is retired: it is never written again, and freed when no process has it mapped. Memory of a device is
//    not freed either.
//
// One thread, the link's. Borrowed blobs may be released on any thread, also after the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/queue.h"
#include "transport/exchanged.h"
#include "transport/shared_memory/lending_frames.h"
#include "transport/shared_memory/peer_memory.h"

namespace steelyard {

class SharedMemoryTransfer {
 public:
  using Bytes = std::vector<std::byte>;
  static constexpr std::size_t most_lent = 4096;  // payloads at a time; further ones are sent
  // Messages in a batch, and bytes of their headers; longer messages are sent alone.
  static constexpr std::size_t most_pending = 16, most_pending_bytes = 64 << 10;

  // `trial`: a segment of this process for the other side to test; null: lend and borrow nothing. `devices`:
  // null: none. All three outlive it.
  SharedMemoryTransfer(const Segment* trial, PeerMemory& memory, DeviceExchange* devices = nullptr);
  ~SharedMemoryTransfer();  // the connection has closed
  SharedMemoryTransfer(const SharedMemoryTransfer&) = delete;
  SharedMemoryTransfer& operator=(const SharedMemoryTransfer&) = delete;

  // The connecting side's first frame.
  [[nodiscard]] Bytes introduction() const;
  // Whether both sides can read each other's memory; std::nullopt until known.
  [[nodiscard]] std::optional<bool> agreed() const;
  // The same for memory of devices.
  [[nodiscard]] bool agreed_on_devices() const;
  [[nodiscard]] Exchanged exchanged() const {
    if (!agreed().value_or(false)) return Exchanged::sent;
    return agreed_on_devices() ? Exchanged::lent_on_devices : Exchanged::lent;
  }

  // Adds a message to the next batch. Returns false if it must be sent alone, after that batch.
  bool take(const Frames& frames);
  [[nodiscard]] bool full() const {
    return pending_.size() >= most_pending || pending_bytes_ >= most_pending_bytes;
  }
  // A frame with the pending messages and the leases that ended here. Returns std::nullopt if both are empty.
  std::optional<Bytes> batch();

  struct Arrived {
    std::span<const std::byte> header;  // a view of the frame
    Blob payload;
  };
  struct Heard {
    std::optional<Bytes> answer;  // to send back
    std::vector<Arrived> messages;
  };
  // Handles a frame from the other side. Returns std::nullopt if it is malformed.
  std::optional<Heard> hear(std::span<const std::byte> frame);

  [[nodiscard]] std::size_t lent() const { return lent_.size(); }

 private:
  class Borrowed;
  using Ended = BoundedQueue<std::uint64_t>;

  Heard hear(const Introduction& introduction);
  std::optional<Heard> hear(const Batch& batch);
  std::optional<Blob> borrow(const Loan& loan);
  [[nodiscard]] bool reads_device(const Introduction& introduction) const;
  // A loan of this payload, with a new lease. Returns nothing if it can only be sent.
  std::optional<Loan> lend(const Blob& payload);

  struct Lent {
    Blob blob;
    bool on_device;
  };

  const Segment* const trial_;
  PeerMemory& memory_;
  DeviceExchange* const devices_;
  std::optional<Introduction> peer_;  // its last Introduction
  Reading reading_ = Reading::untried, device_reading_ = Reading::untried;
  bool knows_devices_ = false;  // the peer's first place on a device was read
  std::uint64_t last_lease_ = 0;
  std::map<std::uint64_t, Lent> lent_;           // by lease
  std::vector<std::pair<Loan, Bytes>> pending_;  // messages: payload and header
  std::size_t pending_bytes_ = 0;
  const std::shared_ptr<Ended> ended_;  // leases that are no longer needed here
};

}  // namespace steelyard
