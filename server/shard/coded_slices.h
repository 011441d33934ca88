// CodedSlices: decodes the pushes to a shard and encodes its answers to pulls (Job::push_encoding,
// Job::pull_encoding; protocol/float_code.h).
//
// `index` counts from the shard's first slice. Owned and used by one shard, on one thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "protocol/float_code.h"
#include "protocol/job.h"
#include "protocol/messages.h"
#include "server/shard/slice_memory.h"

namespace steelyard {

// DeltaSlice: one slice as the workers have it, if pulls are coded (Job::pull_encoding).
//
// A worker that has all of version k receives only the difference to the next one, in few bits:
//
//   difference = coded(w(k+1) - told(k))        told(k+1) = told(k) + decoded(difference)
//
// with w = the slice's parameters. So all workers compute from the same told(k+1), bit for bit. The coding
// error enters the next difference (error feedback, Seide et al. 2014). The server keeps this error, so no
// part of it is lost with a worker. A worker without version k gets all of told(k+1). Checkpoints contain
// told - w in the slice's last slot of state.
//
// Owned and used by one shard, on one thread.
class DeltaSlice {
 public:
  struct Version {
    Blob whole;
    Blob difference;  // to the preceding version; empty for the first
  };

  // `slice` has its initial state. Its preceding version, if any, is as the workers received it.
  DeltaSlice(FloatCode code, const SliceMemory& slice);
  // The slice has its next version. Writes its last slot of state.
  void advance(SliceMemory& slice);

  [[nodiscard]] const Version& current() const { return current_; }
  [[nodiscard]] const Version& previous() const { return previous_; }

 private:
  const FloatCode code_;
  Version current_, previous_;
};

class CodedSlices {
 public:
  CodedSlices() = default;
  // `slices`: the shard's slices of the job's model.
  CodedSlices(const Job& job, std::span<const SliceMemory> slices);

  // All slices have their initial state.
  void begin(std::span<const SliceMemory> slices);
  // This slice has its next version.
  void advance(std::size_t index, SliceMemory& slice);

  // Whether the blob has the size of a push for a slice of `floats` values. Uncoded floats must be aligned,
  // too.
  [[nodiscard]] bool fits(std::size_t index, const Blob& values, std::uint64_t floats) const;
  // Returns the push with decoded values, or std::nullopt if they are not a valid code.
  [[nodiscard]] std::optional<Push> decoded(std::size_t index, const Push& push, std::uint64_t floats) const;
  // The preceding version, which the slice must have, as the workers received it.
  [[nodiscard]] Blob told_before(std::size_t index, const SliceMemory& slice) const {
    return told_[index] ? told_[index]->previous().whole : *slice.previous();
  }
  // Sets the values of the answer to a pull, as the workers receive them. `current`: of the slice's version;
  // otherwise of the preceding one.
  void put_into(Parameters& answer, std::size_t index, const Pull& pull, bool current) const;

 private:
  std::vector<FloatCode> push_, pull_;
  std::vector<std::optional<DeltaSlice>> told_;  // since begin(); std::nullopt if pulls are not coded
};

}  // namespace steelyard
