// PeerSegment: a segment of another process on this host, mapped here for reading (core/segment.h).
//
// A segment is opened as /proc/PID/fd/N, which the system allows only to processes of the same user (and to
// root; refused here). It must be sealed against shrinking and against writable mappings, belong to this
// process's user and begin with the expected name. So the PID of an exited process, or of one on another
// host, does no harm. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/lasting_memory.h"
#include "core/segment.h"

namespace steelyard {

class PeerSegment {
 public:
  // Returns null if there is no segment of that name, or if it cannot be trusted.
  static std::shared_ptr<const PeerSegment> open(std::uint32_t process, std::uint32_t descriptor,
                                                 const SegmentName& name);
  ~PeerSegment();
  PeerSegment(const PeerSegment&) = delete;
  PeerSegment& operator=(const PeerSegment&) = delete;

  // Some bytes of the values. Returns std::nullopt if they exceed the segment.
  [[nodiscard]] std::optional<std::span<const std::byte>> values(std::uint64_t offset,
                                                                 std::uint64_t size) const;

 private:
  PeerSegment(const std::byte* base, std::size_t size) : base_(base), size_(size) {}

  const std::byte* const base_;
  const std::size_t size_;                                                    // of the file
  std::optional<LastingMemory> lasting_{std::in_place, base_, size_, false};  // until it is unmapped
};

}  // namespace steelyard
