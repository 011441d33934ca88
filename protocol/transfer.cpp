#include "protocol/transfer.h"

namespace steelyard {

void Transfer::ask_anew() {
  std::ranges::replace(parts_, Part::asked, Part::missing);
  next_ = in_flight_ = 0;
  allowed_ = 1;
}

void Transfer::restart() {
  ask_anew();
  std::ranges::fill(asked_, Time{});
}

std::vector<std::size_t> Transfer::ask(Time now) {
  if (in_flight_ > 0 && now - heard_ > timeout_) {
    ask_anew();
    timeout_ = std::min(2 * timeout_, longest);
  }
  if (in_flight_ == 0) heard_ = now;
  std::vector<std::size_t> wanted;
  for (; in_flight_ < allowed_ && next_ < parts_.size(); ++next_) {
    if (parts_[next_] != Part::missing) continue;
    parts_[next_] = Part::asked;
    if (asked_[next_] == Time{}) asked_[next_] = now;
    wanted.push_back(next_);
    ++in_flight_;
  }
  return wanted;
}

bool Transfer::came(Time now, std::size_t part) {
  if (part >= parts_.size()) return false;
  heard_ = now;
  if (parts_[part] == Part::here) return false;
  if (parts_[part] == Part::asked) --in_flight_;
  parts_[part] = Part::here;
  ++arrived_;
  allowed_ = std::min(allowed_ + 1, window_);
  const Duration took = asked_[part] == Time{} ? Duration{} : now - asked_[part];
  // Decays, so that a disturbance is forgotten.
  timeout_ = std::clamp(std::max(2 * took, timeout_ * 3 / 4), shortest, longest);
  return true;
}

std::vector<StatePart> parts_of(const std::vector<std::size_t>& numbers, std::uint32_t first,
                                std::uint32_t slots) {
  std::vector<StatePart> parts;
  for (const std::size_t number : numbers) {
    parts.push_back(
        {first + static_cast<std::uint32_t>(number / slots), static_cast<std::uint32_t>(number % slots)});
  }
  return parts;
}

}  // namespace steelyard
