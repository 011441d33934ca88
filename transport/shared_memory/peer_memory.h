// Segments of other processes on this host, mapped here for reading (core/segment.h).
//
// A segment is opened as /proc/PID/fd/N, which the system allows to processes of the same user alone (and to
// root, which is refused here). What is opened has to be a segment that nobody can shrink and nobody can map
// for writing, has to belong to this process's user, and to bear the name that was told; then the number of
// a process that has ended, or of one on another host, leads to nothing wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "core/segment.h"

namespace steelyard {

class PeerSegment {
 public:
  // Null: there is none of that name, or it cannot be trusted.
  static std::shared_ptr<const PeerSegment> open(std::uint32_t process, std::uint32_t descriptor,
                                                 const SegmentName& name);
  ~PeerSegment();
  PeerSegment(const PeerSegment&) = delete;
  PeerSegment& operator=(const PeerSegment&) = delete;

  // Some bytes of the values. Nothing if they end before.
  [[nodiscard]] std::optional<std::span<const std::byte>> values(std::uint64_t offset,
                                                                 std::uint64_t size) const;

 private:
  PeerSegment(const std::byte* base, std::size_t size) : base_(base), size_(size) {}

  const std::byte* const base_;
  const std::size_t size_;  // of the file
};

// The segments that one link has mapped: each once, whichever connection it is read through, so that parts of
// one buffer that come from several nodes of a process lie here as they lie there. A process has few of them
// and takes them by turns, so they stay mapped; if they are more than a few, those that nobody uses are
// unmapped before the next is mapped. One thread; what it gives may be used on any.
class PeerMemory {
 public:
  std::shared_ptr<const PeerSegment> find(std::uint32_t process, std::uint32_t descriptor,
                                          const SegmentName& name);
  void forget_unused();
  [[nodiscard]] std::size_t size() const { return segments_.size(); }

 private:
  std::map<SegmentName, std::shared_ptr<const PeerSegment>> segments_;
};

}  // namespace steelyard
