#include "worker/compute/local_stepper.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/text.h"
#include "nn/optimizer/vector.h"
#include "protocol/sync_mode.h"

namespace steelyard {

void FinalSlices::begin() {
  open_.clear();
  for (const Slice& slice : slices_) open_.push_back(slice.size());
}

std::vector<std::uint32_t> FinalSlices::take(std::uint64_t begin, std::uint64_t end) {
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

// The factors of a step that are the same for every float of a range.
struct Factors {
  float gradient = 0, decay = 0, momentum = 0, moved = 0, local = 0;
};

// One sweep, without branches inside.
template <bool first, bool nesterov>
void sweep(const Factors& f, std::span<const float> gradient, std::span<float> local,
           std::span<float> momentum, std::span<float> moved) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    float g = f.gradient * gradient[i];
    if (f.decay != 0) g += f.decay * local[i];
    const float m = first ? g : f.momentum * momentum[i] + g;
    const float s = nesterov ? g + f.momentum * m : m;
    momentum[i] = m;
    moved[i] = first ? f.moved * s : moved[i] + f.moved * s;
    local[i] -= f.local * s;
  }
}

std::size_t size_for(const Job& job) { return job.sync.is_local() ? job.layout.size() : 0; }

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
      optimizer_(job.optimizer),
      schedule_(job.schedule),
      samples_(job.train_samples),
      clip_norm_(job.clip_norm),
      equal_weights_(job.sync.equal_weights),
      local_(size_for(job)),
      kept_(size_for(job)) {}

void LocalStepper::begin(const Piece& piece, std::span<const float> parameters, std::span<float> moved) {
  CHECK(moved.size() == local_.size(), "local steps in a job that has none");
  piece_ = piece;
  moved_ = moved;
  weight_ = equal_weights_ ? 1.0 : static_cast<double>(piece.positions.size());
  unit_ = round_rate(schedule_, samples_, piece.epoch, piece.whole, piece.local);
  steps_ = {steps_of(piece.local, piece.positions.size()), piece.local.passes};
  const std::uint64_t scaled_to = equal_weights_ ? steps_.steps : piece.local.steps;
  walked_ = walk(optimizer_, scaled_to) / walk(optimizer_, steps_.steps);
  repeated_ = static_cast<double>(scaled_to) / static_cast<double>(steps_.steps);
  first_ = true;
  std::ranges::copy(parameters, local_.data());
}

void LocalStepper::step(std::span<const float> gradient, double weight, std::uint64_t pass,
                        std::uint64_t step) {
  const double rate = step_rate(schedule_, samples_, piece_.epoch, piece_.whole, steps_, pass, step);
  const double scale = weight_ / weight * nn::clipping(layout_, gradient, weight, clip_norm_);
  for (const Range& range : layout_.ranges) {
    const std::span<const float> its = gradient.subspan(range.begin, range.end - range.begin);
    if (range.rule == Rule::step) step_range(range, its, scale, rate);
    if (range.rule == Rule::mean) mean_range(range, its, weight);
    if (range.rule == Rule::ema) ema_range(range, its, weight);
  }
  first_ = false;
}

void LocalStepper::step_range(const Range& range, std::span<const float> gradient, double scale,
                              double rate) {
  const bool plain = optimizer_.kind == nn::Optimizer::Kind::sgd;
  const bool nesterov = optimizer_.kind == nn::Optimizer::Kind::nesterov;
  const double decay = weight_ * optimizer_.weight_decay * range.decay;
  const Factors factors{static_cast<float>(scale), static_cast<float>(decay),
                        static_cast<float>(plain ? 0 : optimizer_.momentum),
                        // A rate that is always zero: nothing moves, and the unit does not matter.
                        static_cast<float>(walked_ * (unit_ > 0 ? rate / unit_ : 1)),
                        static_cast<float>(rate * range.rate / weight_)};
  const auto part = [&](auto whole) { return whole.subspan(range.begin, gradient.size()); };
  const auto work = first_ ? (nesterov ? sweep<true, true> : sweep<true, false>)
                           : (nesterov ? sweep<false, true> : sweep<false, false>);
  work(factors, gradient, part(local_.span()), part(kept_.span()), part(moved_));
}

void LocalStepper::mean_range(const Range& range, std::span<const float> sum, double samples) {
  const auto scale = static_cast<float>(repeated_ * weight_ / samples),
             share = static_cast<float>(1 / samples);
  float *local = local_.data() + range.begin, *moved = moved_.data() + range.begin;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    moved[i] = scale * sum[i] + (first_ ? 0 : moved[i]);
    local[i] += share * sum[i];
  }
}

void LocalStepper::ema_range(const Range& range, std::span<const float> sum, double samples) {
  const auto scale = static_cast<float>(weight_ / samples), weight = static_cast<float>(weight_);
  const auto keep = static_cast<float>(range.keep), fresh = static_cast<float>((1 - range.keep) / weight_);
  float *local = local_.data() + range.begin, *moved = moved_.data() + range.begin;
  float* w = kept_.data() + range.begin;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (first_) w[i] = local[i];
    moved[i] = scale * sum[i] + (first_ ? 0 : keep * (moved[i] - weight * w[i]));
    local[i] = keep * w[i] + fresh * moved[i];
  }
}

}  // namespace steelyard
