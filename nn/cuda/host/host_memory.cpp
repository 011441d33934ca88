#include "nn/cuda/host/host_memory.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "core/check.h"
#include "nn/cuda/host/executor.h"
#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {
namespace {

std::atomic<std::uint64_t> memory_limit{0}, memory_used{0};
std::atomic<bool> registrations_refused{false};

// What the device can reach, of all threads.
class Reachable {
 public:
  void add(const void* data, std::uint64_t bytes, bool writable) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    const std::lock_guard lock(mutex_);
    const auto next = ranges_.lower_bound(begin);
    CHECK(next == ranges_.end() || begin + bytes <= next->first, "memory is registered twice");
    CHECK(next == ranges_.begin() || std::prev(next)->second.end <= begin, "memory is registered twice");
    ranges_.emplace(begin, Range{begin + bytes, writable});
  }
  void remove(const void* data) {
    const std::lock_guard lock(mutex_);
    CHECK(ranges_.erase(reinterpret_cast<std::uintptr_t>(data)) == 1,
          "memory is freed or unregistered twice");
  }
  bool contains(const void* data, std::uint64_t bytes, bool to_write) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    const std::lock_guard lock(mutex_);
    auto found = ranges_.upper_bound(begin);
    if (found == ranges_.begin()) return false;
    --found;
    return begin + bytes <= found->second.end && (found->second.writable || !to_write);
  }
  bool touches(const void* data, std::uint64_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    const std::lock_guard lock(mutex_);
    const auto behind = ranges_.lower_bound(begin + bytes);
    return behind != ranges_.begin() && std::prev(behind)->second.end > begin;
  }

 private:
  struct Range {
    std::uintptr_t end = 0;
    bool writable = false;
  };
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Range> ranges_;
};
// Never destroyed: memory may be freed at the end of the process.
Reachable& reachable() {
  static Reachable& it = *new Reachable;
  return it;
}

void release(void* memory) {
  if (memory == nullptr) return;
  reachable().remove(memory);
  ::operator delete (memory, std::align_val_t{256});
}

}  // namespace

void host::make_reachable(const void* data, std::uint64_t bytes, bool writable) {
  reachable().add(data, bytes, writable);
}
void host::make_unreachable(const void* data) { reachable().remove(data); }

void* host::allocate(std::uint64_t bytes) {
  void* const memory = ::operator new (bytes, std::align_val_t{256});
  std::memset(memory, 0xFF, bytes);  // NaN
  make_reachable(memory, bytes, true);
  return memory;
}

host::CheckedCopy::CheckedCopy(const void* to, const void* from, std::uint64_t bytes)
    : to_(to),
      from_(from),
      bytes_(bytes),
      to_reachable_(reachable().contains(to, bytes, true)),
      from_reachable_(reachable().contains(from, bytes, false)) {}

void host::CheckedCopy::check() const {
  const auto possible = [&](const void* data, bool to_write, bool was) {
    return reachable().contains(data, bytes_, to_write) || (!was && !reachable().touches(data, bytes_));
  };
  CHECK(bytes_ == 0 || possible(from_, false, from_reachable_),
        "a copy from memory that the device cannot read");
  CHECK(bytes_ == 0 || possible(to_, true, to_reachable_), "a copy to memory that the device cannot write");
}

void host::limit_memory(std::uint64_t bytes) { memory_limit = bytes; }
std::uint64_t host::used_memory() { return memory_used; }
void host::refuse_registrations(bool refused) { registrations_refused = refused; }

std::uint64_t free_bytes() {
  const std::uint64_t all = memory_limit, taken = memory_used;
  if (all == 0) return UINT64_MAX;
  return all > taken ? all - taken : 0;
}

void host::take_memory(std::uint64_t bytes) {
  ++calls_of_this_thread().allocations;
  if (bytes > free_bytes()) throw OutOfMemory(bytes, free_bytes());
  memory_used += bytes;
}

DeviceMemory::DeviceMemory(std::uint64_t bytes) : bytes_(bytes) {
  host::take_memory(bytes);
  data_ = host::allocate(bytes);
}
DeviceMemory::~DeviceMemory() {
  release(data_);
  if (data_ != nullptr) memory_used -= bytes_;
}

PinnedMemory::PinnedMemory(std::uint64_t bytes) : data_(host::allocate(bytes)), bytes_(bytes) {
  ++calls_of_this_thread().allocations;
}
PinnedMemory::~PinnedMemory() { release(data_); }

std::unique_ptr<HostRegistration> HostRegistration::make(const void* data, std::uint64_t bytes,
                                                         bool writable) {
  ++calls_of_this_thread().allocations;
  if (registrations_refused) return nullptr;
  reachable().add(data, bytes, writable);
  return std::unique_ptr<HostRegistration>(new HostRegistration(data, 0));
}
HostRegistration::~HostRegistration() { reachable().remove(data_); }

}  // namespace steelyard::nn::cuda
