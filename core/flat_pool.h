// FlatPool: a pool of buffers of one size. Parts of a buffer are taken and returned one by one, by different
// owners. Like BufferPool, but for versions of a model made slice by slice.
//
// If possible, all parts of one version lie in one buffer, each at its own offset, so that a holder of all
// parts has the version flat without a copy. Otherwise a part goes into an unused buffer, at the same offset.
// If all are used, a buffer is added, up to four. After that the part goes into any buffer where its offset
// is free; a fifth or later buffer is added only if it is free nowhere.
//
// Any thread: all shards of a process share one pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/buffer.h"

namespace steelyard {

class FlatPool {
 public:
  struct Part {
    std::shared_ptr<const void> owner;  // the part is returned when the last copy is destroyed
    std::span<float> values;            // contents unspecified
    const Segment* segment = nullptr;   // contains `values`; null: private memory
  };

  explicit FlatPool(Memory memory);

  // Floats [begin, begin + size) of a buffer of `floats`, a number that must be the same in every call. Every
  // version must be divided into the same parts.
  Part take(std::uint64_t floats, std::uint64_t begin, std::uint64_t size, std::uint64_t version);

 private:
  struct Store;
  const std::shared_ptr<Store> store_;  // outlives the pool while any part is in use
};

}  // namespace steelyard
