#include "server/shard/coded_slices.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"

namespace steelyard {

DeltaSlice::DeltaSlice(FloatCode code, const SliceMemory& slice) : code_(code) {
  auto told = std::make_shared<std::vector<float>>(slice.place().size());
  const Blob now = slice.current(), slot = slice.copy_of(slice.slots() - 1);
  const std::span<const float> w = now.floats(), missing = slot.floats();
  for (std::size_t i = 0; i < told->size(); ++i) (*told)[i] = w[i] + missing[i];
  const std::span<const float> view(*told);
  current_.whole = Blob::of_floats(std::move(told), view);
  if (slice.previous()) previous_.whole = *slice.previous();
}

void DeltaSlice::advance(SliceMemory& slice) {
  const Blob now = slice.current();
  const std::span<const float> w = now.floats(), before = current_.whole.floats();
  Blob difference;
  auto told = std::make_shared<std::vector<float>>(w.size());
  slice.change_last_slot([&](std::span<float> missing) {
    for (std::size_t i = 0; i < w.size(); ++i) missing[i] = w[i] - before[i];
    difference = encode(code_, missing);
    CHECK(add_decoded(code_, difference.bytes(), before, *told), "it has just been coded");
    for (std::size_t i = 0; i < w.size(); ++i) missing[i] = (*told)[i] - w[i];
  });
  const std::span<const float> view(*told);
  previous_ = std::exchange(current_, {Blob::of_floats(std::move(told), view), std::move(difference)});
}

CodedSlices::CodedSlices(const Job& job, std::span<const SliceMemory> slices) {
  for (const SliceMemory& slice : slices) {
    push_.push_back(code_of(job.push_encoding, job, slice.place()));
    pull_.push_back(code_of(job.pull_encoding, job, slice.place()));
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
  const DeltaSlice::Version& told = current ? told_[index]->current() : told_[index]->previous();
  answer.difference = pull.difference && !told.difference.empty();
  answer.values = answer.difference ? told.difference : told.whole;
}

}  // namespace steelyard
