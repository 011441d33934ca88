// The grid of slices in which a flat buffer (include/steelyard/parameters.h) is pushed and pulled. The layout
// is part of the job description: servers and the scheduler treat it as data.
#pragma once

#include <steelyard/parameters.h>

#include <cstdint>
#include <string>
#include <vector>

namespace steelyard {

// The layout with each tensor that is stepped and has decay as a range and a norm group of its own.
Layout with_norm_groups(const Layout& layout);

// A slice: the unit of message, ledger, sum, version and pull.
struct Slice {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t range = 0;  // row of the range table

  [[nodiscard]] std::uint64_t size() const { return end - begin; }
};

// All slices of a layout, in order. Throws Failure (configuration) for a layout with holes,
// overlaps or no size.
std::vector<Slice> slices(const Layout& layout);

// Factors of a range are at most so large, so that a rate stays a number that floats hold.
inline constexpr double largest_factor = 1e9;

// Why a layout from outside is not fit for slices(), or its ranges for a step: what is wrong with it, for
// people. Empty: nothing. Its slice size is not looked at.
std::string damage_of(const Layout& layout);

// Cuts the slices into `shards` runs of about equal length; shard i owns [result[i], result[i+1]). A norm
// group is never cut, so a shard may have none.
std::vector<std::uint32_t> shard_borders(const Layout& layout, std::uint32_t shards);

// The default grid: sixteen slices a shard, but none below 256 KB or above 1 MB (a message costs about as
// much whatever is in it, and what is summed should fit a core's cache); smaller where a small model would
// not reach every shard.
std::uint64_t default_slice_size(std::uint64_t parameters, std::uint32_t shards);

}  // namespace steelyard
