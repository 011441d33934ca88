// VersionBuffer: one version of the parameters as a worker has it, whole or arriving slice by slice.
//
// Slices that come one beside the other in memory, as those of a server on the same host do
// (core/flat_pool.h), stay where they are. Otherwise they are copied into one buffer.
#pragma once

#include <memory>
#include <vector>

#include "core/buffer_pool.h"
#include "core/layout.h"
#include "protocol/job.h"
#include "protocol/messages.h"

namespace steelyard {

struct VersionBuffer {
  Version version = 0;               // where pushes are applied at once: rounds below it are in
  HubNumber hub = whole_model;       // whose
  bool begun = false;                // it is being pulled, or here
  std::vector<bool> arrived;         // by slice
  std::vector<std::uint64_t> steps;  // by slice, as the shards told them
  std::size_t missing = 0;           // slices
  Version lowest = 0;                // of the slices that arrived
  std::uint64_t ticket = 0;          // of the pull
  bool spent = false;                // a piece to train was computed from it

  // Nothing of it is here yet.
  void begin(Version wanted, std::size_t slices, HubNumber of = whole_model);
  // Keeps a slice; false if it is here already, or does not fit. `pool` has buffers for all slices together.
  bool take(const Parameters& parameters, const std::vector<Slice>& slices, BufferPool& pool);
  // Nothing of it is needed any more.
  void drop();
  // All parameters, flat; once no slice is missing.
  [[nodiscard]] Blob values(const std::vector<Slice>& slices) const;
  // Whether it is what a job with this last version comes to: of no single hub.
  [[nodiscard]] bool can_be_kept(Version last) const {
    return begun && version >= last && hub == whole_model;
  }
  // Whether all that this shard has of it is here.
  [[nodiscard]] bool whole(const ShardPlace& shard) const;

 private:
  [[nodiscard]] bool fits(const Blob& values, const Slice& slice) const;

  std::vector<std::pair<Slice, Blob>> parts_;  // not copied
  std::shared_ptr<FloatBuffer> copy_;          // null: none had to be copied
};

// What a worker codes and decodes where what travels is coded (Job::push_encoding, Job::pull_encoding;
// protocol/float_code.h). Pure functions.

// What is computed for a slice of a piece, as it is pushed. How it is rounded follows from these alone,
// whoever computes it and whenever.
Blob as_pushed(const Job& job, const Slice& slice, const Piece& piece, const Blob& values);

// A slice that is told as a difference, whole: added to `before`. Without values if that cannot be.
Parameters added(const Job& job, const std::vector<Slice>& slices, const Parameters& difference,
                 const VersionBuffer& before);

}  // namespace steelyard
