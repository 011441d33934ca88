#include "balancing/cost/sudden_change.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace steelyard::balancing {
namespace {

constexpr double odd = 2.5, far = 4;                 // deviations
constexpr double least_odd = 0.03, least_far = 0.1;  // relative: less is never called odd, or far

}  // namespace

SuddenChange::Answer SuddenChange::judge(double surprise, double deviation, bool believe) {
  const double far_from = std::max(far * deviation, least_far);
  const bool is_far = std::abs(surprise) > far_from;
  const bool is_odd = std::abs(surprise) > std::max(odd * deviation, least_odd);
  const Verdict verdict = judge_believed(surprise);
  const std::optional<Odd> before = std::exchange(odd_, std::nullopt);
  if (is_odd && before && before->surprise * surprise > 0) {
    // Of two that agree the mean is believed. Of two that do not, one is an accident on top of the change, and
    // the smaller one is what both have in common. A first one that was followed is part of the prediction.
    const bool agree = std::abs(before->surprise - surprise) < far_from;
    const double smaller = std::min(std::abs(before->surprise), std::abs(surprise));
    const double both = before->held ? (before->surprise + surprise) / 2 : surprise;
    return {.jump = agree ? both : std::copysign(smaller, surprise),
            .confirmed = agree && before->held,
            .verdict = before->held ? Verdict::lasted : verdict};
  }
  if (is_far && believe) {
    believed_ = surprise;
    return {.jump = surprise, .verdict = verdict};
  }
  if (is_odd) odd_ = Odd{surprise, is_far};
  return {.follow = !is_far, .verdict = before && before->held ? Verdict::accident : verdict};
}

// A change that was believed at once has lasted if the next time is nearer to what came after it than to what
// was before.
SuddenChange::Verdict SuddenChange::judge_believed(double surprise) {
  const std::optional<double> change = std::exchange(believed_, std::nullopt);
  if (!change) return Verdict::none;
  return std::abs(surprise) < std::abs(*change) / 2 ? Verdict::lasted : Verdict::accident;
}

void SuddenChange::save(StateWriter& writer) const {
  writer.count(odd_ ? 1 : 0);
  if (odd_) writer.real(odd_->surprise).count(odd_->held ? 1 : 0);
  writer.count(believed_ ? 1 : 0);
  if (believed_) writer.real(*believed_);
}

void SuddenChange::restore(StateReader& reader) {
  odd_.reset(), believed_.reset();
  if (reader.count(1) == 1) {
    const double surprise = reader.real();
    odd_ = Odd{surprise, reader.count(1) == 1};
  }
  if (reader.count(1) == 1) believed_ = reader.real();
}

}  // namespace steelyard::balancing
