#include "server/held_pushes.h"

#include <algorithm>

namespace steelyard {
namespace {

constexpr std::uint64_t always = 64 << 20;  // bytes: so much may be held, however small the model

}  // namespace

bool HeldPushes::add(NodeId from, const Push& push) {
  std::uint64_t& its = bytes_of_[from];
  const std::uint64_t size = push.values.size();
  if (its + size > models_ / 2 * bytes_ || bytes_in_all_ + size > std::max(models_ * bytes_, always))
    return false;
  its += size;
  bytes_in_all_ += size;
  held_.push_back({from, push});
  return true;
}

std::vector<HeldPushes::Held> HeldPushes::take() {
  bytes_of_.clear();
  bytes_in_all_ = 0;
  return std::exchange(held_, {});
}

}  // namespace steelyard
