#include "scheduler/members/room.h"

#include <algorithm>
#include <cmath>

namespace steelyard {
namespace {

// Less than the first is nothing: it is what polite workers take at least. Between the two nothing changes.
constexpr double nothing = 0.05, enough = 0.15;
constexpr double much_less = 0.8;  // times what was left; what is above that is noise
constexpr Duration full_for = std::chrono::seconds(2);
// Whoever has to leave again within `soon` is tried again after twice the time.
constexpr Duration first_trial = std::chrono::seconds(3), longest_trial = std::chrono::minutes(5),
                   soon = std::chrono::minutes(1);

}  // namespace

void Room::heard(Time now, double left) {
  left_ = left >= 0 && left <= 1 ? left : -1;
  const bool is_full = known() && (full_ ? left_ < enough : left_ < nothing);
  if (is_full != full_) since_ = now;
  full_ = is_full;
  sum_ += std::max(0.0, left_);
  ++count_;
}

void Room::did(std::uint64_t positions) {
  if (!known()) return;
  done_ = std::max(positions, done_ / 2);
  then_ = count_ > 0 ? sum_ / count_ : left_;
  sum_ = count_ = 0;
}

bool Room::full(Time now) const { return full_ && now - since_ > full_for; }

bool Room::is_back(Time now) const {
  return out_ && (!known() || (!full_ && now - std::max(since_, moved_) > trial_));
}

void Room::leave(Time now) {
  const bool again = trial_ > Duration{} && now - moved_ < soon;
  trial_ = again ? std::min(2 * trial_, longest_trial) : first_trial;
  out_ = true;
  moved_ = now;
}

void Room::come_back(Time now) {
  out_ = false;
  moved_ = now;
}

std::uint64_t Room::most(std::uint64_t equal_part) const {
  if (!known() || left_ >= much_less * then_) return UINT64_MAX;
  const auto did = static_cast<double>(done_ > 0 ? done_ : equal_part);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(did * left_ / then_)));
}

}  // namespace steelyard
