#include "scheduler/members/refusals.h"

namespace steelyard {
namespace {

constexpr Duration a_minute = std::chrono::minutes(1);

}  // namespace

std::optional<std::string> Refusals::refused(Time now, NodeId who, const Refuse& refuse) {
  if (!since_) since_ = now;
  const std::string what = to_string(who) + ": " + refuse.text;
  const std::pair its(who, static_cast<std::uint8_t>(refuse.reason));
  if (noted_.contains(its) || noted_.size() >= most_noted) {
    ++more_;
    last_ = what;
    return std::nullopt;
  }
  noted_.insert(its);
  return "refused " + what;
}

// Whoever still asks stays remembered, unless that leaves no room for others.
std::optional<std::string> Refusals::due(Time now) {
  if (!since_ || now - *since_ < a_minute) return std::nullopt;
  std::optional<std::string> note;
  if (more_ > 0) note = "refused " + std::to_string(more_) + " more times within a minute, last " + last_;
  if (more_ == 0 || noted_.size() >= most_noted) noted_.clear();
  since_.reset();
  if (more_ > 0) since_ = now;
  more_ = 0;
  last_.clear();
  return note;
}

}  // namespace steelyard
