#include "nn/cuda/lendable_memory.h"

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <utility>

namespace steelyard::nn::cuda {
namespace {

constexpr std::uint64_t alignment = 256;  // as of memory that a device gives
constexpr std::uint64_t block_bytes = 8 * named_granularity;

std::atomic<bool> lending{false};

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

// The blocks of all devices. Any thread may take and give.
class Blocks {
 public:
  using Part = LendableMemory::Part;

  Part take(unsigned device, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (const auto found = unused_.find({device, bytes}); found != unused_.end())
      return unused_.extract(found).mapped();
    if (bytes >= block_bytes) {
      const NamedMemory& own = all_.emplace_back(NamedMemory::make(rounded(bytes, named_granularity)));
      return {own.data, &own};
    }
    Open& open = open_[device];
    if (open.block == nullptr || open.block->bytes - open.used < bytes)
      open = {&all_.emplace_back(NamedMemory::make(block_bytes)), 0};
    const std::uint64_t at = std::exchange(open.used, rounded(open.used + bytes, alignment));
    return {static_cast<std::byte*>(open.block->data) + at, open.block};
  }
  void give(unsigned device, std::uint64_t bytes, const Part& part) {
    const std::lock_guard lock(mutex_);
    unused_.emplace(std::pair(device, bytes), part);
  }

 private:
  struct Open {  // the block that parts are taken from, up to `used`
    const NamedMemory* block = nullptr;
    std::uint64_t used = 0;
  };

  std::mutex mutex_;
  std::list<NamedMemory> all_;
  std::map<unsigned, Open> open_;                                   // by device
  std::multimap<std::pair<unsigned, std::uint64_t>, Part> unused_;  // by device and size
};

namespace {

// Never destroyed: other processes may still read when this one ends.
Blocks& blocks() {
  static Blocks& it = *new Blocks;
  return it;
}

}  // namespace

void begin_to_lend() { lending = true; }

LendableMemory::LendableMemory(std::uint64_t bytes) : bytes_(bytes) {
  if (lending) {
    part_ = blocks().take(device_, bytes);
  } else {
    own_.emplace(bytes);
  }
}

LendableMemory::~LendableMemory() {
  if (!own_ && !retired_) blocks().give(device_, bytes_, part_);
}

std::optional<DevicePlace> LendableMemory::place() const {
  if (own_ || !part_.block->name) return std::nullopt;
  const auto offset =
      static_cast<const std::byte*>(part_.data) - static_cast<const std::byte*>(part_.block->data);
  return DevicePlace{*part_.block->name, part_.block->bytes, static_cast<std::uint64_t>(offset), bytes_};
}

}  // namespace steelyard::nn::cuda
