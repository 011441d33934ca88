// CodedSlices: what of a shard's pushes and pulls is coded (Job::push_encoding, Job::pull_encoding;
// protocol/float_code.h).
//
// Slices are numbered from the shard's first one. Owned and used by one shard, on one thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "protocol/float_code.h"
#include "protocol/job.h"
#include "protocol/messages.h"
#include "server/shard/slice_memory.h"

namespace steelyard {

// DeltaSlice: one slice as workers have it, where pulls are coded (Job::pull_encoding).
//
// A worker that has version k whole is told what is to be added to it, in few bits:
//
//   difference = coded(w(k+1) - told(k))        told(k+1) = told(k) + decoded(difference)
//
// so that all workers compute from the same told(k+1), bit for bit. What the code leaves out is in the next
// difference (error feedback, Seide et al. 2014); the server keeps it, so nothing is lost with a worker. Who
// has not version k gets told(k+1) whole. A checkpoint keeps told - w in the slice's last slot of state.
//
// Owned and used by one shard, on one thread.
class DeltaSlice {
 public:
  struct Version {
    Blob whole;
    Blob difference;  // to the version before; empty of the first
  };

  // The slice has its first state. If it has a version before, that is what was told of it.
  DeltaSlice(FloatCode code, const SliceMemory& slice);
  // The slice has its next version, whose last slot of state is written.
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
  // Of these slices of the job's.
  CodedSlices(const Job& job, std::span<const SliceMemory> slices);

  // All slices have their first state.
  void begin(std::span<const SliceMemory> slices);
  // This one has its next version.
  void advance(std::size_t index, SliceMemory& slice);

  // Whether this is as long as what is pushed for a slice of so many floats. Floats are aligned, too.
  [[nodiscard]] bool fits(std::size_t index, const Blob& values, std::uint64_t floats) const;
  // With its values as floats. Nothing: they are no code.
  [[nodiscard]] std::optional<Push> decoded(std::size_t index, const Push& push, std::uint64_t floats) const;
  // What is told of the version before this one, which the slice has.
  [[nodiscard]] Blob told_before(std::size_t index, const SliceMemory& slice) const {
    return told_[index] ? told_[index]->previous().whole : *slice.previous();
  }
  // The values that answer a pull are those that workers are told. `current`: of the slice's version, not of
  // the one before.
  void put_into(Parameters& answer, std::size_t index, const Pull& pull, bool current) const;

 private:
  std::vector<FloatCode> push_, pull_;
  std::vector<std::optional<DeltaSlice>> told_;  // from begin() on; nothing where pulls are not coded
};

}  // namespace steelyard
