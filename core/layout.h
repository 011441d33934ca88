// The grid of slices in which a flat buffer (include/steelyard/parameters.h) is pushed and pulled. The layout
// is part of the job description: servers and the scheduler treat it as data.
#pragma once

#include <steelyard/parameters.h>

#include <cstdint>
#include <string>
#include <vector>

namespace steelyard {

// The layout with a separate range and norm group for each tensor that is stepped and has decay.
Layout with_norm_groups(const Layout& layout);

// A slice: the unit of message, ledger, sum, version and pull.
struct Slice {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t range = 0;  // row of the range table

  [[nodiscard]] std::uint64_t size() const { return end - begin; }
};

// All slices of a layout, in order. Throws Failure (configuration) for a layout that is empty or has holes or
// overlaps.
std::vector<Slice> slices(const Layout& layout);

// Upper limit of a range's factors, so that rates remain representable as floats.
inline constexpr double largest_factor = 1e9;

// Why a layout received from outside is invalid, as a text for users: slices() would reject it, or it has
// ranges that cannot be stepped. Empty if it is valid. Does not check the slice size.
std::string damage_of(const Layout& layout);

// Divides the slices into `shards` runs of about equal length; shard i owns [result[i], result[i+1]). Norm
// groups are never divided, so a shard may have no slices.
std::vector<std::uint32_t> shard_borders(const Layout& layout, std::uint32_t shards);

// The default slice size: sixteen slices a shard, but from 256 KB to 1 MB each (the cost of a message depends
// little on its size, and the sum should fit a core's cache). It is smaller if a small model would otherwise
// not reach every shard.
std::uint64_t default_slice_size(std::uint64_t parameters, std::uint32_t shards);

}  // namespace steelyard
