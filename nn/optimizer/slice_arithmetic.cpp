#include "nn/optimizer/slice_arithmetic.h"

#include <algorithm>
#include <vector>

#include "core/check.h"

namespace steelyard::nn {

SliceArithmetic::Room HostArithmetic::version_room(std::uint64_t steps) {
  return versions_ ? versions_->take(floats_, place_.begin, place_.size(), steps) : sum_room();
}

SliceArithmetic::Room HostArithmetic::sum_room() {
  const std::shared_ptr<FloatBuffer> buffer = pool_.take();
  return {buffer, buffer->span()};
}

SliceArithmetic::Room HostArithmetic::zeros(std::uint64_t floats) {
  auto values = std::make_shared<std::vector<float>>(floats);
  const std::span<float> all(*values);
  return {std::move(values), all};
}

void HostArithmetic::copy(std::span<float> into, std::span<const float> from) {
  CHECK(into.size() == from.size(), "a copy of slices of unequal length");
  std::ranges::copy(from, into.begin());
}

void HostArithmetic::run(const RuleCall& call) {
  RuleCall its = call;
  its.streams = streams_;
  nn::run(its);
}

}  // namespace steelyard::nn
