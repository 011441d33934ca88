#include "worker/compute/step_function.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace steelyard {
namespace {

// What stands before the sign; `rest` is what stands behind it.
std::string_view before(char sign, std::string_view text, std::string_view& rest) {
  const std::size_t at = std::min(text.find(sign), text.size());
  rest = text.substr(std::min(at + 1, text.size()));
  return text.substr(0, at);
}

}  // namespace

std::optional<StepFunction> StepFunction::read(std::string_view text, double least, double most) {
  std::string_view rest;
  const auto level_of = [&](std::string_view item) {
    const std::optional<double> level = number_in<double>(trimmed(item));
    return level && *level >= least && *level <= most ? level : std::nullopt;
  };
  const std::optional<double> first = level_of(before(',', text, rest));
  if (!first || trimmed(text).ends_with(',')) return std::nullopt;
  StepFunction stairs(*first);
  while (!rest.empty()) {
    std::string_view time;
    const std::string_view what = before('@', before(',', rest, rest), time);
    const std::optional<double> from = number_in<double>(trimmed(time)), level = level_of(what);
    if (!from || *from <= stairs.steps_.back().from_s) return std::nullopt;
    if (trimmed(what) == "again" && rest.empty()) {
      stairs.period_s_ = *from;
    } else if (level) {
      stairs.steps_.push_back({*from, *level});
    } else {
      return std::nullopt;
    }
  }
  return stairs;
}

double StepFunction::at(double time_s) const {
  if (period_s_ > 0) time_s = std::fmod(time_s, period_s_);
  const auto later = std::ranges::upper_bound(steps_, time_s, {}, &Step::from_s);
  return later == steps_.begin() ? steps_.front().level : std::prev(later)->level;
}

bool StepFunction::is_always(double level) const {
  return std::ranges::all_of(steps_, [&](const Step& step) { return step.level == level; });
}

}  // namespace steelyard
