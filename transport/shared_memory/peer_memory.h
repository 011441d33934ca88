// Segments of other processes on this host that a link has mapped (core/peer_segment.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "core/peer_segment.h"

namespace steelyard {

// The segments that one link has mapped. Each is mapped once for all connections, so parts of a buffer that
// come from several nodes of a process keep their relative places here. A process has a few segments and uses
// them in turns, so they stay mapped; above a limit, unused ones are unmapped before the next is mapped. One
// thread; the returned segments are thread-safe.
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
