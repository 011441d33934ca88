#include "worker/version_buffer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/check.h"
#include "core/random.h"

namespace steelyard {
namespace {

void copy(const Blob& values, const Slice& slice, FloatBuffer& into) {
  std::memcpy(into.data() + slice.begin, values.bytes().data(), values.size());
}

// Address at which the whole buffer would begin.
std::uintptr_t origin_of(const Blob& values, const Slice& slice) {
  return reinterpret_cast<std::uintptr_t>(values.bytes().data()) - slice.begin * sizeof(float);
}

}  // namespace

void VersionBuffer::begin(Version wanted, std::size_t slices, HubNumber of) {
  drop();
  version = wanted;
  hub = of;
  begun = true;
  arrived.assign(slices, false);
  steps.assign(slices, 0);
  missing = slices;
  lowest = UINT64_MAX;
  spent = false;
}

void VersionBuffer::stand_for(Version it) {
  begin(it, arrived.size());
  missing = 0;
  lowest = it;
}

void VersionBuffer::drop() {
  begun = false;
  parts_.clear();
  copy_.reset();
}

bool VersionBuffer::take(const Parameters& parameters, const std::vector<Slice>& slices, BufferPool& pool) {
  if (parameters.slice >= slices.size() || arrived[parameters.slice]) return false;
  const Slice& slice = slices[parameters.slice];
  if (parameters.values.size() != slice.size() * sizeof(float)) return false;
  by_slices_ |= parameters.values.device() != nullptr;
  if (!copy_ && !by_slices_ && !fits(parameters.values, slice)) {
    copy_ = pool.take();
    for (const auto& [its, values] : std::exchange(parts_, {})) copy(values, its, *copy_);
  }
  if (copy_) {
    copy(parameters.values, slice, *copy_);
  } else {
    parts_.emplace_back(slice, parameters.values);
  }
  arrived[parameters.slice] = true;
  steps[parameters.slice] = parameters.steps;
  lowest = std::min(lowest, parameters.version);
  --missing;
  return true;
}

// Whether the slice is adjacent to those already here, and aligned as engines expect of a buffer.
bool VersionBuffer::fits(const Blob& values, const Slice& slice) const {
  const std::uintptr_t origin = origin_of(values, slice);
  if (parts_.empty()) return origin % FloatBuffer::alignment == 0;
  return origin == origin_of(parts_.front().second, parts_.front().first);
}

Blob VersionBuffer::values(const std::vector<Slice>& slices) const {
  CHECK(begun && missing == 0, "values() before all slices arrived");
  const std::uint64_t floats = slices.back().end;
  if (copy_) return Blob::of_floats(copy_, copy_->span());
  if (parts_.empty()) return {};  // as stand_for() left it
  if (by_slices_) return Blob(std::make_shared<SlicedValues>(parts_, floats));
  const auto first = std::ranges::min_element(parts_, {}, [](const auto& part) { return part.first.begin; });
  const std::span all(first->second.bytes().data(), floats * sizeof(float));
  return {std::make_shared<const std::vector<std::pair<Slice, Blob>>>(parts_), all};
}

bool VersionBuffer::whole(const ShardPlace& shard) const {
  const auto end = arrived.begin() + shard.last;
  return std::find(arrived.begin() + shard.first, end, false) == end;
}

Blob as_pushed(const Job& job, const Slice& slice, const Piece& piece, const Blob& values) {
  const FloatCode code = code_of(job.push_encoding, job, slice);
  if (code == FloatCode::float32) return values;
  return encode(code, values.floats(),
                hash(job.seed, piece.round, piece.positions.begin, piece.positions.end, slice.begin));
}

Parameters added(const Job& job, const std::vector<Slice>& slices, const Parameters& difference,
                 const VersionBuffer& before) {
  Parameters whole = difference;
  whole.values = {};
  const bool follows = before.begun && before.missing == 0 && before.version + 1 == difference.version;
  if (!follows || difference.slice >= slices.size()) return whole;
  const Slice& slice = slices[difference.slice];
  const Blob all = before.values(slices);
  auto sum = std::make_shared<std::vector<float>>(slice.size());
  const std::span<const float> base = all.floats().subspan(slice.begin, slice.size());
  if (!add_decoded(job.pull_encoding, difference.values.bytes(), base, *sum)) return whole;
  const std::span<const float> view(*sum);
  whole.values = Blob::of_floats(std::move(sum), view);
  return whole;
}

}  // namespace steelyard
