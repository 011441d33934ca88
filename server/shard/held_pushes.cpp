#include "server/shard/held_pushes.h"

#include <algorithm>

namespace steelyard {
namespace {

constexpr std::uint64_t always = 64 << 20;  // bytes: so much may be held, however small the model

}  // namespace

bool HeldPushes::add(NodeId from, const Push& push) {
  std::uint64_t& its = bytes_of_[from];
  const std::uint64_t size = push.values.size();
  const std::uint64_t room = std::min(std::max(models() * bytes_, always), std::max(most_, always));
  if (its + size > models() / 2 * bytes_ || bytes_in_all_ + size > room) return false;
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
