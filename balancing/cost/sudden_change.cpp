#include "balancing/cost/sudden_change.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace steelyard::balancing {
namespace {

constexpr double far = 4;          // deviations
constexpr double least_far = 0.1;  // relative: less is never called far

}  // namespace

SuddenChange::Answer SuddenChange::judge(double surprise, double deviation, bool believe) {
  const double far_from = std::max(far * deviation, least_far);
  const Verdict verdict = judge_believed(surprise);
  const std::optional<double> held = std::exchange(held_, std::nullopt);
  if (std::abs(surprise) <= far_from) return {.follow = true, .verdict = held ? Verdict::accident : verdict};
  if (held && *held * surprise > 0) {
    // Of two that agree the mean is believed. Of two that do not, one is an accident on top of the change,
    // and the smaller one is what both have in common.
    const bool agree = std::abs(*held - surprise) < far_from;
    const double smaller = std::min(std::abs(*held), std::abs(surprise));
    return {.jump = agree ? (*held + surprise) / 2 : std::copysign(smaller, surprise),
            .confirmed = agree,
            .verdict = Verdict::lasted};
  }
  if (believe) {
    believed_ = surprise;
    return {.jump = surprise, .verdict = verdict};
  }
  held_ = surprise;
  return {.verdict = held ? Verdict::accident : verdict};
}

// A change that was believed at once has lasted if the next time is nearer to what came after it than to what
// was before.
SuddenChange::Verdict SuddenChange::judge_believed(double surprise) {
  const std::optional<double> change = std::exchange(believed_, std::nullopt);
  if (!change) return Verdict::none;
  return std::abs(surprise) < std::abs(*change) / 2 ? Verdict::lasted : Verdict::accident;
}

void SuddenChange::save(StateWriter& writer) const {
  for (const std::optional<double>& maybe : {held_, believed_}) {
    writer.count(maybe ? 1 : 0);
    if (maybe) writer.real(*maybe);
  }
}

void SuddenChange::restore(StateReader& reader) {
  for (std::optional<double>* maybe : {&held_, &believed_}) {
    maybe->reset();
    if (reader.count(1) == 1) *maybe = reader.real();
  }
}

}  // namespace steelyard::balancing
