// The layout of a model's flat buffer of parameters: the offset of each tensor, and the update rule of each
// range. All offsets and sizes are in floats, not bytes.
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

// How a server computes the next version of a range from the pushed sums: by an optimizer step, as an
// exponential moving average, or by adding the mean of the pushed changes. Equations: nn/optimizer/rule.h.
enum class Rule : std::uint8_t { step, ema, mean };

// One row of the range table: floats [begin, end) are updated by the same rule.
struct Range {
  std::uint64_t begin = 0, end = 0;
  Rule rule = Rule::step;
  double decay = 1;              // factor on the optimizer's weight decay; 0: none
  std::uint32_t norm_group = 0;  // not 0: the update needs the tensor's norm, so one shard has all its slices
  double keep = 0.9;             // ema: weight of the previous version, 0..1
  double rate = 1;               // step: factor on the learning rate
  friend bool operator==(const Range&, const Range&) = default;
};

struct Layout {
  std::vector<TensorPlace> tensors;  // in order, without gaps
  std::vector<Range> ranges;         // in order, without gaps: the range table
  std::uint64_t slice_size = 0;      // of the largest slice; no slice spans two rows of the range table

  [[nodiscard]] std::uint64_t size() const { return ranges.empty() ? 0 : ranges.back().end; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

// Appends a tensor. Extends the last range if its properties are equal, otherwise adds a range.
void append(Layout& layout, std::string name, std::vector<std::uint64_t> shape, Rule rule = Rule::step,
            double decay = 1, double keep = 0.9, double rate = 1);

}  // namespace steelyard
