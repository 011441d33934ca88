#include "server/shard/told_slice.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"

namespace steelyard {

ToldSlice::ToldSlice(FloatCode code, const SliceMemory& slice) : code_(code) {
  auto told = std::make_shared<std::vector<float>>(slice.place().size());
  const std::span<const float> w = slice.current().floats(), missing = slice.last_slot();
  for (std::size_t i = 0; i < told->size(); ++i) (*told)[i] = w[i] + missing[i];
  const std::span<const float> view(*told);
  current_.whole = Blob::of_floats(std::move(told), view);
  if (slice.previous()) previous_.whole = *slice.previous();
}

void ToldSlice::advance(SliceMemory& slice) {
  const std::span<const float> w = slice.current().floats(), before = current_.whole.floats();
  const std::span<float> missing = slice.last_slot();
  for (std::size_t i = 0; i < w.size(); ++i) missing[i] = w[i] - before[i];
  Blob difference = encode(code_, missing);
  auto told = std::make_shared<std::vector<float>>(w.size());
  CHECK(add_decoded(code_, difference.bytes(), before, *told), "it has just been coded");
  for (std::size_t i = 0; i < w.size(); ++i) missing[i] = (*told)[i] - w[i];
  const std::span<const float> view(*told);
  previous_ = std::exchange(current_, {Blob::of_floats(std::move(told), view), std::move(difference)});
}

}  // namespace steelyard
