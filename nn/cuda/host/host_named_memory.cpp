#include <unistd.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "core/peer_segment.h"
#include "core/segment.h"
#include "nn/cuda/host/host_memory.h"
#include "nn/cuda/named_memory.h"

namespace steelyard::nn::cuda {

unsigned used_device() { return 0; }

// Memory outside of segments has no name.
NamedMemory NamedMemory::make(std::uint64_t bytes) {
  host::take_memory(bytes);
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::vector<std::unique_ptr<Segment>>;  // never destroyed
  std::unique_ptr<Segment> segment = Segment::make(bytes);
  if (!segment) return {host::allocate(bytes), bytes, std::nullopt};
  std::memset(segment->data(), 0xFF, bytes);  // NaN
  host::make_reachable(segment->data(), bytes, true);
  const SegmentName its = segment->name();
  const DevicePlace::Name name{static_cast<std::uint64_t>(getpid()),
                               static_cast<std::uint64_t>(segment->descriptor()), its.process[0],
                               its.process[1], its.number};
  const std::lock_guard lock(mutex);
  return {all.emplace_back(std::move(segment))->data(), bytes, name};
}

std::unique_ptr<OpenedMemory> OpenedMemory::open(const DevicePlace::Name& name, std::uint64_t bytes) {
  const auto segment = PeerSegment::open(static_cast<std::uint32_t>(name[0]),
                                         static_cast<std::uint32_t>(name[1]), {{name[2], name[3]}, name[4]});
  const auto values = segment ? segment->values(0, bytes) : std::nullopt;
  if (!values) return nullptr;
  host::make_reachable(values->data(), bytes, false);
  return std::unique_ptr<OpenedMemory>(new OpenedMemory(values->data(), bytes, segment));
}
OpenedMemory::~OpenedMemory() { host::make_unreachable(data_); }

}  // namespace steelyard::nn::cuda
