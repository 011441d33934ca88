#include "server/shard/held_pushes.h"

#include <algorithm>
#include <cmath>

namespace steelyard {
namespace {

constexpr std::size_t remembered = 31, enough = 8;

double median_length(std::vector<double> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::ranges::nth_element(of, middle);
  return *middle;
}

// Bytes that may wait in any case, for small models.
constexpr std::uint64_t always_of_one = 32 << 20, always = 2 * always_of_one;
constexpr std::uint64_t least_of_push = 1 << 10;  // bytes; the memory of a push without values

}  // namespace

std::optional<double> NormLimit::refused(std::size_t slice, bool finite,
                                         const std::function<double()>& squares, double weight) {
  if (!finite) return 0;
  if (limit_ <= 0) return std::nullopt;
  Recent& recent = recent_.at(slice);
  const double norm = std::sqrt(squares()) / weight;
  if (recent.norms.size() >= enough) {
    const double usual = median_length(recent.norms);
    if (usual > 0 && norm > limit_ * usual) return norm / usual;
  }
  if (recent.norms.size() < remembered) {
    recent.norms.push_back(norm);
  } else {
    recent.norms[recent.next] = norm;
    recent.next = (recent.next + 1) % remembered;
  }
  return std::nullopt;
}

bool NormLimit::knows_any() const {
  return std::ranges::any_of(recent_, [](const Recent& it) { return !it.norms.empty(); });
}

bool HeldPushes::add(NodeId from, const Push& push) {
  std::uint64_t& its = bytes_of_[from];
  const std::uint64_t size = std::max(push.values.size(), least_of_push);
  const std::uint64_t room = std::min(std::max(models() * bytes_, always), std::max(most_, always));
  const std::uint64_t room_of_one = std::max(models() / 2 * bytes_, always_of_one);
  if (its + size > room_of_one || bytes_in_all_ + size > room) return false;
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
