// FinalSlices: turns ranges of a gradient that are final into slices that are.
//
// A range may cover parts of slices and may come in any order, but each float only once in a piece.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/layout.h"

namespace steelyard {

class FinalSlices {
 public:
  using Post = std::function<void(std::uint32_t slice)>;

  explicit FinalSlices(const std::vector<Slice>& slices) : slices_(slices) {}

  // A new piece: nothing is final.
  void begin();
  // Floats [begin, end) are final: `post` gets each slice that is now, the last one first.
  void take(std::uint64_t begin, std::uint64_t end, const Post& post);
  // All that is left is final.
  void take_rest(const Post& post);

 private:
  const std::vector<Slice>& slices_;  // in order, without gaps
  std::vector<std::uint64_t> open_;   // floats that may still change, by slice
};

}  // namespace steelyard
