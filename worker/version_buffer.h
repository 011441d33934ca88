// VersionBuffer: one version of the parameters as a worker has it, whole or arriving slice by slice.
#pragma once

#include <memory>
#include <vector>

#include "core/buffer.h"
#include "core/layout.h"
#include "wire/messages.h"

namespace steelyard {

struct VersionBuffer {
  Version version = 0;  // where pushes are applied at once: rounds below it are in
  std::shared_ptr<FloatBuffer> values;
  std::vector<bool> arrived;         // by slice
  std::vector<std::uint64_t> steps;  // by slice, as the shards told them
  std::size_t missing = 0;           // slices
  Version lowest = 0;                // of the slices that arrived
  std::uint64_t ticket = 0;          // of the pull
  bool spent = false;                // a piece to train was computed from it

  // Nothing of it is here yet.
  void begin(Version wanted, std::shared_ptr<FloatBuffer> into, std::size_t slices);
  // Copies a slice to its place; false if it is here already, or does not fit.
  bool take(const Parameters& parameters, const std::vector<Slice>& slices);
  // Whether all that this shard has of it is here.
  [[nodiscard]] bool whole(const ShardPlace& shard) const;
};

}  // namespace steelyard
