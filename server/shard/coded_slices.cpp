#include "server/shard/coded_slices.h"

#include <memory>
#include <utility>

namespace steelyard {

CodedSlices::CodedSlices(const Job& job, std::span<const SliceMemory> slices) {
  for (const SliceMemory& slice : slices) {
    push_.push_back(code_of(job.push, job, slice.place()));
    pull_.push_back(code_of(job.pull, job, slice.place()));
  }
}

void CodedSlices::begin(std::span<const SliceMemory> slices) {
  told_.resize(slices.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (pull_[i] != FloatCode::float32) told_[i].emplace(pull_[i], slices[i]);
  }
}

void CodedSlices::advance(std::size_t index, SliceMemory& slice) {
  if (told_[index]) told_[index]->advance(slice);
}

bool CodedSlices::fits(std::size_t index, const Blob& values, std::uint64_t floats) const {
  const FloatCode code = push_[index];
  return code == FloatCode::float32 ? values.holds_floats(floats)
                                    : values.size() == coded_bytes(code, floats);
}

std::optional<Push> CodedSlices::decoded(std::size_t index, const Push& push, std::uint64_t floats) const {
  if (push_[index] == FloatCode::float32) return push;
  auto values = std::make_shared<std::vector<float>>(floats);
  const std::span<float> view(*values);
  if (!decode(push_[index], push.values.bytes(), view)) return std::nullopt;
  Push plain = push;
  plain.values = Blob::received(std::move(values), std::as_writable_bytes(view));
  return plain;
}

void CodedSlices::put_into(Parameters& answer, std::size_t index, const Pull& pull, bool current) const {
  if (!told_[index]) return;
  const ToldSlice::Version& told = current ? told_[index]->current() : told_[index]->previous();
  answer.difference = pull.difference && !told.difference.empty();
  answer.values = answer.difference ? told.difference : told.whole;
}

}  // namespace steelyard
