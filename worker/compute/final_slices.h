// FinalSlices: turns ranges of a gradient that are final into slices that are.
//
// A range may cover parts of slices and may come in any order, but each float only once in a piece.
#pragma once

#include <cstdint>
#include <vector>

#include "core/layout.h"

namespace steelyard {

class FinalSlices {
 public:
  explicit FinalSlices(const std::vector<Slice>& slices) : slices_(slices) {}

  // A new piece: nothing is final.
  void begin();
  // Floats [begin, end) are final. The slices that are now, the last one first.
  std::vector<std::uint32_t> take(std::uint64_t begin, std::uint64_t end);
  // All that is left is final.
  std::vector<std::uint32_t> take_rest();

 private:
  const std::vector<Slice>& slices_;  // in order, without gaps
  std::vector<std::uint64_t> open_;   // floats that may still change, by slice
};

}  // namespace steelyard
