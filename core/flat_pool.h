// FlatPool: a pool of buffers of one size. Parts of a buffer are taken and returned one by one, by different
// owners. Like BufferPool, but for versions of a model made slice by slice.
//
// If possible, all parts of one version lie in one buffer, each at its own offset, so that a holder of all
// parts has the version flat without a copy. If that offset is still in use, the part is placed at the same
// offset in another buffer. This happens only once four buffers exist; a further buffer is added only if the
// offset is free in none of them.
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
    const Segment* segment = nullptr;   // that holds them
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
