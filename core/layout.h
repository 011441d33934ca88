// The layout of a model's flat buffer: which tensor lies where, which range follows which rule, and the
// grid of slices in which it is pushed and pulled. Part of the job description: servers and the
// scheduler treat it as data.
//
// All offsets and sizes are in floats, not bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace steelyard {

struct TensorPlace {
  std::string name;                  // "conv1.weight"
  std::vector<std::uint64_t> shape;  // row-major
  std::uint64_t offset = 0;

  [[nodiscard]] std::uint64_t size() const;  // product of the shape
  friend bool operator==(const TensorPlace&, const TensorPlace&) = default;
};

enum class Rule : std::uint8_t { step, ema, mean };  // how the server turns a sum into the next version

// One row of the range table: every float of [begin, end) follows the same rule.
struct Range {
  std::uint64_t begin = 0, end = 0;
  Rule rule = Rule::step;
  double decay = 1;              // factor on the optimizer's weight decay; 0: none
  std::uint32_t norm_group = 0;  // not 0: a tensor that is stepped with its norm, whole on one shard
  double keep = 0.9;             // ema: the share of the version before in the next one
  double rate = 1;               // step: factor on the learning rate
  friend bool operator==(const Range&, const Range&) = default;
};

struct Layout {
  std::vector<TensorPlace> tensors;  // in order, without gaps
  std::vector<Range> ranges;         // in order, without gaps: the range table
  std::uint64_t slice_size = 0;      // of the grid; a slice never crosses a border of the range table

  [[nodiscard]] std::uint64_t size() const { return ranges.empty() ? 0 : ranges.back().end; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

// Appends a tensor behind the last one; ranges with equal properties grow together.
void append(Layout& layout, std::string name, std::vector<std::uint64_t> shape, Rule rule = Rule::step,
            double decay = 1, double keep = 0.9, double rate = 1);

// The same with each tensor that is stepped and has decay as a range and a norm group of its own.
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
