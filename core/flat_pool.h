// FlatPool: buffers of one size that are taken in parts, each part by somebody else, and given back part by
// part. As BufferPool, but for the versions of a model whose slices are made one by one.
//
// Parts that are taken for one version lie in one buffer, each at its place, if that is possible: whoever has
// all parts then has the version flat, without a copy. It is not possible where a place is still in use; then
// the part lies at its place in another buffer. Four buffers are made before that happens, and more only if a
// place is free in none.
//
// Any thread: the shards of a process have one pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/buffer.h"

namespace steelyard {

class FlatPool {
 public:
  struct Part {
    std::shared_ptr<const void> owner;  // the part goes back with the last of these
    std::span<float> values;            // with whatever was in them before
    const Segment* segment = nullptr;   // in which they lie
  };

  explicit FlatPool(Memory memory);

  // Floats [begin, begin + size) of a buffer of `floats`, which is the same in every call. The parts are the
  // same in every version.
  Part take(std::uint64_t floats, std::uint64_t begin, std::uint64_t size, std::uint64_t version);

 private:
  struct Store;
  const std::shared_ptr<Store> store_;  // outlives the pool while any part is about
};

}  // namespace steelyard
