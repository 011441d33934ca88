#include "worker/compute/local_stepper.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/text.h"
#include "nn/optimizer/clipping.h"
#include "protocol/sync_mode.h"

namespace steelyard {

void FinalSlices::begin() {
  open_.clear();
  for (const Slice& slice : slices_) open_.push_back(slice.size());
  open_in_all_ = std::accumulate(open_.begin(), open_.end(), std::uint64_t{0});
}

std::vector<std::uint32_t> FinalSlices::take(std::uint64_t begin, std::uint64_t end) {
  CHECK(end - begin <= open_in_all_, "an engine reported a range as final twice");
  open_in_all_ -= end - begin;
  if (open_in_all_ == 0) return {};
  std::vector<std::uint32_t> whole;
  const auto behind = std::partition_point(slices_.begin(), slices_.end(),
                                           [&](const Slice& slice) { return slice.begin < end; });
  for (auto index = static_cast<std::size_t>(behind - slices_.begin()); index-- > 0;) {
    const Slice& slice = slices_[index];
    if (slice.end <= begin) break;
    const std::uint64_t covered = std::min(end, slice.end) - std::max(begin, slice.begin);
    CHECK(covered <= open_[index], "an engine reported a range as final twice");
    open_[index] -= covered;
    if (open_[index] == 0) whole.push_back(static_cast<std::uint32_t>(index));
  }
  return whole;
}

std::vector<std::uint32_t> FinalSlices::take_rest() {
  std::vector<std::uint32_t> rest;
  for (std::size_t index = slices_.size(); index-- > 0;) {
    if (open_[index] == 0) continue;
    open_[index] = 0;
    rest.push_back(static_cast<std::uint32_t>(index));
  }
  return rest;
}

namespace {

// The text before the sign; `rest` is the text behind it.
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

LocalStepper::LocalStepper(const Job& job)
    : layout_(job.layout),
      stepped_(nn::stepped_ranges(layout_)),
      optimizer_(job.optimizer),
      schedule_(job.schedule),
      samples_(job.train_samples),
      clip_norm_(job.clip_norm),
      equal_weights_(job.sync.equal_weights) {}

void LocalStepper::begin(const Piece& piece) {
  piece_ = piece;
  weight_ = equal_weights_ ? 1.0 : static_cast<double>(piece.positions.size());
  unit_ = round_rate(schedule_, samples_, piece.epoch, piece.whole, piece.local);
  steps_ = {steps_of(piece.local, piece.positions.size()), piece.local.passes};
  const std::uint64_t scaled_to = equal_weights_ ? steps_.steps : piece.local.steps;
  walked_ = walk(optimizer_, scaled_to) / walk(optimizer_, steps_.steps);
  repeated_ = static_cast<double>(scaled_to) / static_cast<double>(steps_.steps);
  first_ = true;
}

void LocalStepper::begin(const Piece& piece, std::span<const float> parameters, std::span<float> moved) {
  CHECK(moved.size() == layout_.size(), "local steps in a job that has none");
  begin(piece);
  moved_ = moved;
  if (!buffers_) buffers_.emplace(layout_.size());
  std::ranges::copy(parameters, buffers_->local.data());
}

void LocalStepper::step(std::span<const float> gradient, double weight, std::uint64_t pass,
                        std::uint64_t step) {
  const double squares = clips() ? nn::sum_of_squares_in(stepped_, gradient) : 0;
  const Numbers next = numbers(squares, weight, pass, step);
  nn::local_step(next.ranges, next.first, gradient, buffers_->local.span(), buffers_->kept.span(), moved_);
}

LocalStepper::Numbers LocalStepper::numbers(double squares, double weight, std::uint64_t pass,
                                            std::uint64_t step) {
  const double clipping = nn::clipping(squares, weight, clip_norm_);
  const double rate = step_rate(schedule_, samples_, piece_.epoch, piece_.whole, steps_, pass, step);
  ranges_.clear();
  for (const Range& range : layout_.ranges) {
    if (range.rule == Rule::step) ranges_.push_back(step_of(range, weight_ / weight * clipping, rate));
    if (range.rule == Rule::mean) ranges_.push_back(mean(range, weight));
    if (range.rule == Rule::ema) ranges_.push_back(ema(range, weight));
  }
  return {ranges_, std::exchange(first_, false)};
}

nn::LocalRange LocalStepper::step_of(const Range& range, double scale, double rate) const {
  const bool plain = optimizer_.kind == nn::Optimizer::Kind::sgd;
  const bool nesterov = optimizer_.kind == nn::Optimizer::Kind::nesterov;
  const double decay = weight_ * optimizer_.weight_decay * range.decay;
  return {range.begin,
          range.end,
          nesterov ? nn::LocalRange::Kind::nesterov : nn::LocalRange::Kind::momentum,
          {.gradient = static_cast<float>(scale),
           .decay = static_cast<float>(decay),
           .momentum = static_cast<float>(plain ? 0 : optimizer_.momentum),
           // A rate that is always zero: nothing moves, and the unit does not matter.
           .moved = static_cast<float>(walked_ * (unit_ > 0 ? rate / unit_ : 1)),
           .local = static_cast<float>(rate * range.rate / weight_)}};
}

nn::LocalRange LocalStepper::mean(const Range& range, double samples) const {
  return {
      range.begin,
      range.end,
      nn::LocalRange::Kind::mean,
      {.moved = static_cast<float>(repeated_ * weight_ / samples), .local = static_cast<float>(1 / samples)}};
}

nn::LocalRange LocalStepper::ema(const Range& range, double samples) const {
  return {range.begin,
          range.end,
          nn::LocalRange::Kind::ema,
          {.gradient = static_cast<float>(weight_ / samples),
           .decay = static_cast<float>(weight_),
           .momentum = static_cast<float>(range.keep),
           .local = static_cast<float>((1 - range.keep) / weight_)}};
}

}  // namespace steelyard
