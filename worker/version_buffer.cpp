#include "worker/version_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace steelyard {

void VersionBuffer::begin(Version wanted, std::shared_ptr<FloatBuffer> into, std::size_t slices) {
  version = wanted;
  values = std::move(into);
  arrived.assign(slices, false);
  steps.assign(slices, 0);
  missing = slices;
  lowest = UINT64_MAX;
  spent = false;
}

bool VersionBuffer::take(const Parameters& parameters, const std::vector<Slice>& slices) {
  if (parameters.slice >= slices.size() || arrived[parameters.slice]) return false;
  const Slice& slice = slices[parameters.slice];
  if (parameters.values.size() != slice.size() * sizeof(float)) return false;
  std::memcpy(values->data() + slice.begin, parameters.values.bytes().data(), parameters.values.size());
  arrived[parameters.slice] = true;
  steps[parameters.slice] = parameters.steps;
  lowest = std::min(lowest, parameters.version);
  --missing;
  return true;
}

bool VersionBuffer::whole(const ShardPlace& shard) const {
  const auto end = arrived.begin() + shard.last;
  return std::find(arrived.begin() + shard.first, end, false) == end;
}

}  // namespace steelyard
