// SharedMemoryTransfer: the payloads that go through one connection between two processes of one host without
// being moved.
//
// A payload that lies in a segment (core/segment.h) is not sent. Its *loan* is: which segment, from which
// byte on, how many. The other side maps the segment, and the message that its node gets has the bytes where
// they lie. Whether that works is tried out at the beginning of each connection: both sides introduce
// themselves, the connecting one first, and each tells whether it could read the other's segment. Between
// hosts, users or containers it cannot, and payloads are sent as ever.
//
// Messages to the other side gather, and go in one frame before the node sleeps or when they are many: a
// frame wakes four threads on its way, which costs more than what is in it.
//
// The lender keeps what it lends as it is, until
//  - the borrower returns the lease, which it does once the last copy of the blob is gone there; or
//  - the connection ends, by whatever cause. Whether the other side still reads is then unknown, so the
//    segment is retired: it is never written again, and goes when nobody has it mapped.
//
// One thread, the link's. Borrowed blobs may be dropped on any, also after the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/queue.h"
#include "transport/shared_memory/lending_frames.h"
#include "transport/shared_memory/peer_memory.h"

namespace steelyard {

class SharedMemoryTransfer {
 public:
  using Bytes = std::vector<std::byte>;
  static constexpr std::size_t most_lent = 4096;  // payloads at a time; what exceeds them is sent
  // Messages in a batch, and bytes of their headers; longer ones are sent by themselves.
  static constexpr std::size_t most_pending = 16, most_pending_bytes = 64 << 10;

  // `trial`: a segment of this process for the other side to try; null: nothing is to be lent or borrowed.
  // Both outlive it.
  SharedMemoryTransfer(const Segment* trial, PeerMemory& memory);
  ~SharedMemoryTransfer();  // the connection has ended
  SharedMemoryTransfer(const SharedMemoryTransfer&) = delete;
  SharedMemoryTransfer& operator=(const SharedMemoryTransfer&) = delete;

  // What the connecting side says first.
  [[nodiscard]] Bytes introduction() const;
  // Whether both sides can read each other; nothing before that is known.
  [[nodiscard]] std::optional<bool> agreed() const;

  // Takes a message for the next batch. False: it has to be sent by itself, after that batch.
  bool take(const Frames& frames);
  [[nodiscard]] bool full() const {
    return pending_.size() >= most_pending || pending_bytes_ >= most_pending_bytes;
  }
  // A frame with what has gathered: messages that were taken, and leases that have ended here. Nothing if
  // there is neither.
  std::optional<Bytes> batch();

  struct Arrived {
    std::span<const std::byte> header;  // a view of the frame
    Blob payload;
  };
  struct Heard {
    std::optional<Bytes> answer;  // to be sent back
    std::vector<Arrived> messages;
  };
  // A frame from the other side. Nothing if it makes no sense.
  std::optional<Heard> hear(std::span<const std::byte> frame);

  [[nodiscard]] std::size_t lent() const { return lent_.size(); }

 private:
  class Borrowed;
  using Ended = BoundedQueue<std::uint64_t>;

  Heard hear(const Introduction& introduction);
  std::optional<Heard> hear(const Batch& batch);
  std::optional<Blob> borrow(const Loan& loan);

  const Segment* const trial_;
  PeerMemory& memory_;
  std::optional<Introduction> peer_;  // what it said last
  Reading reading_ = Reading::untried;
  std::uint64_t last_lease_ = 0;
  std::map<std::uint64_t, Blob> lent_;           // by lease
  std::vector<std::pair<Loan, Bytes>> pending_;  // messages: payload and header
  std::size_t pending_bytes_ = 0;
  const std::shared_ptr<Ended> ended_;  // leases that nobody here needs any more
};

}  // namespace steelyard
