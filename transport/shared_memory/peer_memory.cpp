#include "transport/shared_memory/peer_memory.h"

#include <algorithm>

namespace steelyard {
namespace {

constexpr std::size_t most_segments = 4096;  // mapped by one link
// Unused segments of a process that stay mapped, because it uses the same few in turns.
constexpr std::ptrdiff_t kept_segments = 8;

}  // namespace

std::shared_ptr<const PeerSegment> PeerMemory::find(std::uint32_t process, std::uint32_t descriptor,
                                                    const SegmentName& name) {
  const auto known = segments_.find(name);
  if (known != segments_.end()) return known->second;
  const auto its = [&](const auto& segment) { return segment.first.process == name.process; };
  if (std::ranges::count_if(segments_, its) >= kept_segments) {
    std::erase_if(segments_,
                  [&](const auto& segment) { return its(segment) && segment.second.use_count() == 1; });
  }
  if (segments_.size() >= most_segments) return nullptr;
  auto segment = PeerSegment::open(process, descriptor, name);
  if (segment) segments_.emplace(name, segment);
  return segment;
}

void PeerMemory::forget_unused() {
  std::erase_if(segments_, [](const auto& known) { return known.second.use_count() == 1; });
}

}  // namespace steelyard
