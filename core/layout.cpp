#include "core/layout.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/check.h"
#include "core/error.h"

namespace steelyard {

namespace {

// Equal except for begin and end.
bool alike(Range one, const Range& other) {
  one.begin = other.begin, one.end = other.end;
  return one == other;
}

// False for NaN.
bool is_factor(double value) { return value >= 0 && value <= largest_factor; }

Range part(Range range, std::uint64_t begin, std::uint64_t end) {
  range.begin = begin, range.end = end;
  return range;
}

}  // namespace

std::uint64_t TensorPlace::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

void append(Layout& layout, std::string name, std::vector<std::uint64_t> shape, Rule rule, double decay,
            double keep, double rate) {
  TensorPlace tensor{std::move(name), std::move(shape), layout.size()};
  Range range{tensor.offset, tensor.offset + tensor.size(), rule, decay, 0, keep, rate};
  if (!layout.ranges.empty() && alike(layout.ranges.back(), range)) {
    layout.ranges.back().end = range.end;
  } else {
    layout.ranges.push_back(range);
  }
  layout.tensors.push_back(std::move(tensor));
}

// In a layout from outside, tensors may span ranges: such a tensor is left unchanged.
Layout with_norm_groups(const Layout& layout) {
  Layout grouped{layout.tensors, {}, layout.slice_size};
  auto tensor = layout.tensors.begin();
  for (const Range& range : layout.ranges) {
    std::uint64_t at = range.begin;
    for (; tensor != layout.tensors.end() && tensor->offset < range.end; ++tensor) {
      const std::uint64_t begin = tensor->offset, end = begin + tensor->size();
      const bool has_norm = range.rule == Rule::step && range.decay > 0 && begin >= at && end <= range.end;
      if (!has_norm || begin == end) continue;
      if (begin > at) grouped.ranges.push_back(part(range, at, begin));
      grouped.ranges.push_back(part(range, begin, end));
      grouped.ranges.back().norm_group = static_cast<std::uint32_t>(tensor - layout.tensors.begin()) + 1;
      at = end;
    }
    if (at < range.end) grouped.ranges.push_back(part(range, at, range.end));
  }
  return grouped;
}

// 1 TB in slices of the default size.
constexpr std::uint64_t most_slices = std::uint64_t{1} << 20;

std::vector<Slice> slices(const Layout& layout) {
  if (layout.size() == 0 || layout.slice_size == 0) {
    refuse_setup("the model has no parameters: give it at least one layer with weights");
  }
  if (layout.size() / layout.slice_size > most_slices) {
    refuse_setup("the model has " + std::to_string(layout.size()) + " parameters, " +
                 std::to_string(layout.size() * sizeof(float) / 1'000'000) + " MB, in more than " +
                 std::to_string(most_slices) + " slices: make it smaller");
  }
  std::vector<Slice> all;
  std::uint64_t expected = 0;
  for (std::uint32_t row = 0; row < layout.ranges.size(); ++row) {
    const Range& range = layout.ranges[row];
    if (range.begin != expected || range.end <= range.begin) {
      throw Failure(ExitCode::protocol,
                    "the range table has a hole or an overlap at float " + std::to_string(range.begin));
    }
    for (std::uint64_t at = range.begin; at < range.end; at += layout.slice_size) {
      all.push_back({at, std::min(at + layout.slice_size, range.end), row});
    }
    expected = range.end;
  }
  return all;
}

// Ranges and tensors must cover the same floats, each without holes.
std::string damage_of(const Layout& layout) {
  std::uint64_t at = 0;
  for (const Range& range : layout.ranges) {
    if (range.begin != at || range.end <= range.begin) return "its ranges have holes";
    if (!is_factor(range.decay) || !is_factor(range.rate) || !(range.keep >= 0 && range.keep <= 1))
      return "its ranges have invalid factors";
    at = range.end;
  }
  at = 0;
  for (const TensorPlace& tensor : layout.tensors) {
    // The remaining size bounds the product before each step, so that no shape can overflow.
    std::uint64_t size = 1;
    for (const std::uint64_t extent : tensor.shape) {
      if (extent > layout.size() / std::max<std::uint64_t>(size, 1))
        return "\"" + tensor.name + "\" is larger than the model";
      size *= extent;
    }
    if (tensor.offset != at || size > layout.size() - at) return "its tensors have holes";
    at += size;
  }
  if (at != layout.size() || at == 0) return "its layout is invalid";
  return {};
}

std::vector<std::uint32_t> shard_borders(const Layout& layout, std::uint32_t shards) {
  CHECK(shards > 0, "a model lies on at least one shard");
  const std::vector<Slice> all = slices(layout);
  const auto cuts_a_group = [&](std::uint64_t at) {
    return at > 0 && at < all.size() && all[at - 1].range == all[at].range &&
           layout.ranges[all[at].range].norm_group != 0;
  };
  std::vector<std::uint32_t> borders;
  for (std::uint64_t shard = 0; shard <= shards; ++shard) {
    const std::uint64_t even = shard * all.size() / shards;
    std::uint64_t before = even, after = even;  // the nearest borders that do not divide a norm group
    while (cuts_a_group(before)) --before;
    while (cuts_a_group(after)) ++after;
    borders.push_back(static_cast<std::uint32_t>(even - before <= after - even ? before : after));
  }
  return borders;
}

std::uint64_t default_slice_size(std::uint64_t parameters, std::uint32_t shards) {
  constexpr std::uint64_t quarter_megabyte = 65536;  // floats
  constexpr std::uint64_t cache_line = 16;
  constexpr std::uint64_t in_flight = 16;  // slices a shard: enough to overlap transfer and summation
  const std::uint64_t even = (parameters + shards - 1) / shards;
  const std::uint64_t large = std::clamp(even / in_flight, quarter_megabyte, 4 * quarter_megabyte);
  return std::clamp((even + cache_line - 1) / cache_line * cache_line, cache_line,
                    large / cache_line * cache_line);
}

}  // namespace steelyard
