// CodedSlices: what of a shard's pushes and pulls is coded (Job::push, Job::pull; protocol/float_code.h).
//
// Slices are numbered from the shard's first one. Owned and used by one shard, on one thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "server/shard/slice_memory.h"
#include "server/shard/told_slice.h"
#include "protocol/job.h"
#include "protocol/messages.h"

namespace steelyard {

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
  std::vector<std::optional<ToldSlice>> told_;  // from begin() on; nothing where pulls are not coded
};

}  // namespace steelyard
