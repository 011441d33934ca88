// VersionBuffer: one version of the parameters in a worker, complete or arriving slice by slice.
//
// If all slices are adjacent in memory, as with a server on the same host (core/flat_pool.h), they are not
// copied. Otherwise all are copied into one buffer, unless one is on a device: then the slices stay where
// they are (protocol/sliced_values.h).
#pragma once

#include <memory>
#include <vector>

#include "core/buffer_pool.h"
#include "core/layout.h"
#include "protocol/job.h"
#include "protocol/messages.h"
#include "protocol/sliced_values.h"

namespace steelyard {

struct VersionBuffer {
  Version version = 0;               // if pushes are applied on arrival: contains all rounds below it
  HubNumber hub = whole_model;       // the hub that made it
  bool begun = false;                // being pulled, or complete
  std::vector<bool> arrived;         // by slice
  std::vector<std::uint64_t> steps;  // by slice, as reported by the shards
  std::size_t missing = 0;           // slices
  Version lowest = 0;                // of the slices that arrived
  std::uint64_t ticket = 0;          // of the pull
  bool spent = false;                // a piece to train was computed from it

  // Starts a version; no slice has arrived.
  void begin(Version wanted, std::size_t slices, HubNumber of = whole_model);
  // Keeps a slice. Returns false if it has arrived already or does not fit. The buffers of `pool` hold all
  // slices.
  bool take(const Parameters& parameters, const std::vector<Slice>& slices, BufferPool& pool);
  // Counts as complete without values: the worker's program has them.
  void stand_for(Version it);
  // Releases everything.
  void drop();
  // All parameters, flat; empty after stand_for(). Only once no slice is missing.
  [[nodiscard]] Blob values(const std::vector<Slice>& slices) const;
  // Whether it can be the final version of a job with this last version; a single hub's version cannot.
  [[nodiscard]] bool can_be_kept(Version last) const {
    return begun && version >= last && hub == whole_model;
  }
  // Whether all slices of this shard have arrived.
  [[nodiscard]] bool whole(const ShardPlace& shard) const;

 private:
  [[nodiscard]] bool fits(const Blob& values, const Slice& slice) const;

  SlicedValues::Parts parts_;          // not copied
  std::shared_ptr<FloatBuffer> copy_;  // null: no slice had to be copied
  bool by_slices_ = false;             // a slice of this or of an earlier version was on a device
};

// Coding of gradients and parameters for the network (Job::push_encoding, Job::pull_encoding;
// protocol/float_code.h). Pure functions.

// Encodes a slice of a piece's gradient for a push. Rounding depends only on these arguments, not on the
// worker or the time.
Blob as_pushed(const Job& job, const Slice& slice, const Piece& piece, const Blob& values);

// Decodes a slice sent as a difference and adds it to `before`. The result has empty `values` if that is
// impossible.
Parameters added(const Job& job, const std::vector<Slice>& slices, const Parameters& difference,
                 const VersionBuffer& before);

}  // namespace steelyard
