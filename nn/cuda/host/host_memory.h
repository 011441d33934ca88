// The memory that the host executor's device can reach. All of it is memory of this process; as on a device,
// only part of that is device memory, pinned or registered.
#pragma once

#include <cstdint>

namespace steelyard::nn::cuda::host {

// Counts device memory against the limit (limit_memory). Throws OutOfMemory.
void take_memory(std::uint64_t bytes);
// Memory that the device can reach, filled with NaN.
void* allocate(std::uint64_t bytes);
// The same for memory from elsewhere. Each byte at most once.
void make_reachable(const void* data, std::uint64_t bytes, bool writable);
void make_unreachable(const void* data);

// A copy that was added to a stream and will be done later.
class CheckedCopy {
 public:
  CheckedCopy(const void* to, const void* from, std::uint64_t bytes);
  // Called when it is done. Ends the process, with a message, if one of its places was freed or unregistered
  // since, goes beyond the end of such memory, or may only be read. Other memory of the host is accepted.
  void check() const;

 private:
  const void *to_, *from_;
  std::uint64_t bytes_;
  bool to_reachable_, from_reachable_;  // when it was added
};

}  // namespace steelyard::nn::cuda::host
