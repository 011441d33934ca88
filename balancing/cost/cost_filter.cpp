#include "balancing/cost/cost_filter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace steelyard::balancing {
namespace {

constexpr double first_noise = 0.05, least_noise = 0.004;
constexpr double first_doubt = 0.3;                         // of the level: first rounds are often slow
constexpr double noise_memory = 0.93, error_memory = 0.95;  // per round
constexpr double clear_lead = 0.8;  // of the error of the level in use: only then another takes over
// Of the shape, for each of the levels: in units of the noise, and at least. Where times have stood still,
// one that changes with the share is the shape's doing.
constexpr std::array shape_drift{0.2, 2.0}, least_shape_drift{0.005, 0.03};
constexpr double odd = 2.5, far = 4;                 // deviations
constexpr double least_odd = 0.03, least_far = 0.1;  // relative: less is never called odd, or far
constexpr double jump_doubt = 0.7;                   // of the level after a sudden change
constexpr double guessing = 2;            // measurements that the first guess of the noise counts for
constexpr double cold = 0.5;              // of the time per sample of the first batch: it was a cold one
constexpr double clear_step = 0.05;       // of the logarithm of the time, known from the signal
constexpr double nearly = 0.85;           // of a time known from before

}  // namespace

CostFilter::Verdict CostFilter::observe(TimedBatch batch, const Signals& told, bool believe) {
  jumped_ = false;
  ++rounds_;
  if (profile_) adopt_profile(batch.samples);
  if (empty()) {
    first(batch, told);
    return Verdict::none;
  }
  // The first batch of all is a cold one as often as not. It counts only against a second that is slower.
  if (rounds_ == 2 && batch.seconds / batch.samples < cold * std::exp(levels_[0].log_seconds) / unit_) {
    first(batch, told);
    return Verdict::none;
  }
  const double units = batch.samples / unit_, seconds = batch.seconds;
  // What the signals explain is part of the prediction and no surprise.
  const Growth grown = growth(told);
  const double known = foretold(grown);
  go_to(units);
  const Verdict verdict = judge_last(seconds);
  const double deviation = std::hypot(std::sqrt(levels_[chosen_].variance), noise_);
  listen(std::log(seconds / predicted()), told, grown, deviation);
  for (Level& level : levels_) level.log_seconds += known;
  shape_->scale(std::exp(known));
  jumped_ = std::abs(known) > clear_step;
  const double surprise = std::log(seconds / predicted());

  // With few measurements the noise itself is a guess.
  const double guess = 1 + guessing / static_cast<double>(rounds_);
  const bool is_far = std::abs(surprise) > std::max(far * guess * deviation, least_far);
  const bool is_odd = std::abs(surprise) > std::max(odd * guess * deviation, least_odd);
  if (is_odd && odd_ && odd_->surprise * surprise > 0) {
    return follow_both(surprise, std::max(far * deviation, least_far)) ? Verdict::lasted : verdict;
  }
  const bool corroborated =
      cpu_signal_.explains(surprise, grown.load) || memory_signal_.explains(surprise, grown.pressure);
  if (is_far && (believe || corroborated || was_as_fast(seconds))) {
    odd_.reset();
    believed_ = Odd{units, seconds, surprise, false};
    jump(seconds, surprise);
    return verdict;
  }
  const bool refuted = odd_ && odd_->held;
  odd_.reset();
  if (is_odd) odd_ = Odd{units, seconds, surprise, is_far};
  if (!is_far) follow(seconds);
  return refuted ? Verdict::accident : verdict;
}

// Two odd times in a row, on the same side. True if the first was held: the change has lasted.
bool CostFilter::follow_both(double surprise, double alike) {
  const Odd before = *std::exchange(odd_, std::nullopt);
  // Of two that agree the mean is more than each; otherwise one of them is an accident on top of the change,
  // and what both have in common is the smaller one. Of one that was not held a part was followed already.
  const bool agree = std::abs(before.surprise - surprise) < alike;
  const double smaller = std::min(std::abs(before.surprise), std::abs(surprise));
  const double both = before.held ? (before.surprise + surprise) / 2 : surprise;
  const double change = agree ? both : std::copysign(smaller, surprise);
  jump(predicted() * std::exp(change), surprise);
  if (agree && before.held) settled_ = 2;
  return before.held;
}

void CostFilter::first(TimedBatch batch, const Signals& told) {
  unit_ = batch.samples;
  units_ = 1;
  shape_ = CostLine(1, batch.seconds);
  levels_.fill({std::log(batch.seconds), first_doubt * first_doubt, 0});
  noise_ = first_noise;
  settled_ = 1;
  if (told.cpu >= 0) load_ = LeadingSignal::load(told.cpu);
  if (told.memory >= 0) memory_ = told.memory;
}

// As if a batch of this size had been measured before, and taken what the profile says.
void CostFilter::adopt_profile(double samples) {
  const Affine profile = *std::exchange(profile_, std::nullopt);
  first({samples, profile(samples)}, {});
  shape_ = CostLine::of_profile(profile.fixed, profile.per_sample * samples);
}

CostFilter::Growth CostFilter::growth(const Signals& now) const {
  Growth growth{0, 0};
  if (now.cpu >= 0 && load_ >= 0) growth.load = LeadingSignal::load(now.cpu) - load_;
  if (now.memory >= 0 && memory_ >= 0)
    growth.pressure = LeadingSignal::pressure(now.memory) - LeadingSignal::pressure(memory_);
  return growth;
}

double CostFilter::foretold(const Growth& growth) const {
  return cpu_signal_.gain() * growth.load + memory_signal_.gain() * growth.pressure;
}

double CostFilter::predicted() const { return std::exp(levels_[chosen_].log_seconds); }

// From here on the levels refer to batches of this size, with the doubt that the shape adds on the way.
void CostFilter::go_to(double units) {
  const double growth = std::log(shape_->at(units) / shape_->at(units_));
  const double doubt = shape_->doubt(units_, units);
  for (Level& level : levels_) {
    level.log_seconds += growth;
    level.variance += doubt * doubt;
  }
  units_ = units;
}

// Was the change that was believed after one round a lasting one? It was if the next time is nearer to what
// came after it than to what was before.
CostFilter::Verdict CostFilter::judge_last(double seconds) {
  if (!believed_) return Verdict::none;
  const double change = std::abs(believed_->surprise);
  believed_.reset();
  if (std::abs(std::log(seconds / predicted())) < change / 2) return Verdict::lasted;
  return Verdict::accident;
}

bool CostFilter::changing(const Signals& now) const {
  return jumped_ || settled_ < 3 || std::abs(foretold(growth(now))) > clear_step;
}

bool CostFilter::was_as_fast(double seconds) const {
  return fast_ && seconds < predicted() && seconds > nearly * (*fast_)(units_);
}

// The memory is asked about what the CPU share leaves unexplained: who takes the one takes the other as well.
void CostFilter::listen(double surprise, const Signals& told, const Growth& growth, double deviation) {
  const double variance = deviation * deviation;
  if (told.cpu >= 0 && load_ >= 0) cpu_signal_.observe(surprise, growth.load, variance);
  const double rest = surprise - cpu_signal_.gain() * growth.load;
  if (told.memory >= 0 && memory_ >= 0) memory_signal_.observe(rest, growth.pressure, variance);
  if (told.cpu >= 0) load_ = LeadingSignal::load(told.cpu);
  if (told.memory >= 0) memory_ = told.memory;
}

void CostFilter::Level::update(double measured, double noise) {
  const double gain = variance / (variance + noise * noise);
  log_seconds += gain * (measured - log_seconds);
  variance *= 1 - gain;
}

void CostFilter::follow(double seconds) {
  ++settled_;
  const double measured = std::log(seconds);
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    Level& level = levels_[k];
    level.variance += std::pow(speeds[k] * noise_, 2);
    const double square = std::pow(measured - level.log_seconds, 2);
    level.error = error_memory * level.error + (1 - error_memory) * square;
    if (k == chosen_) {
      // Only what the level's own doubt does not explain is noise.
      const double trust = noise_ * noise_ / (noise_ * noise_ + level.variance);
      const double share = std::max(1 - noise_memory, 1 / (guessing + static_cast<double>(rounds_))) * trust;
      noise_ = std::max(least_noise, std::sqrt((1 - share) * noise_ * noise_ + share * square));
    }
    level.update(measured, noise_);
  }
  const auto better = [](const Level& a, const Level& b) { return a.error < b.error; };
  const auto best = static_cast<std::size_t>(std::ranges::min_element(levels_, better) - levels_.begin());
  if (levels_[best].error < clear_lead * levels_[chosen_].error) chosen_ = best;
  shape_->drift(std::max(shape_drift[chosen_] * noise_, least_shape_drift[chosen_]));
  shape_->update(units_, seconds, noise_);
}

void CostFilter::jump(double seconds, double surprise) {
  settled_ = 0;
  jumped_ = true;
  if (surprise > 0 && (!fast_ || predicted() < (*fast_)(units_))) {
    const double scale = predicted() / shape_->at(units_);
    fast_ = {scale * shape_->fixed(), scale * shape_->slope()};
  }
  for (Level& level : levels_) {
    level.variance += jump_doubt * jump_doubt;
    level.update(std::log(seconds), noise_);
  }
  // Who became faster did so as a whole, as far as anybody knows. Left at its height, the doubt about the
  // shape would be that of times perhaps a hundred times as long, and the line would tip over with the next
  // batch.
  shape_->scale(std::min(1.0, seconds / shape_->at(units_)));
  shape_->loosen();
  shape_->update(units_, seconds, noise_);
}

Affine CostFilter::curve(const Signals& now) const {
  const double scale = predicted() * std::exp(foretold(growth(now))) / shape_->at(units_);
  return {scale * shape_->fixed(), scale * shape_->slope() / unit_};
}

double CostFilter::doubt(double samples) const {
  return std::hypot(std::sqrt(levels_[chosen_].variance), shape_->doubt(units_, samples / unit_));
}

void CostFilter::save(StateWriter& writer) const {
  writer.count(shape_ ? 1 : 0);
  if (!shape_) return;
  writer.real(unit_).real(units_);
  shape_->save(writer);
  for (const Level& level : levels_) writer.real(level.log_seconds).real(level.variance).real(level.error);
  writer.count(chosen_).real(noise_).real(load_).real(memory_);
  cpu_signal_.save(writer);
  memory_signal_.save(writer);
  for (const std::optional<Odd>& maybe : {odd_, believed_}) {
    writer.count(maybe ? 1 : 0);
    if (maybe)
      writer.real(maybe->units).real(maybe->seconds).real(maybe->surprise).count(maybe->held ? 1 : 0);
  }
  writer.count(settled_).count(jumped_ ? 1 : 0).count(rounds_);
  writer.count(fast_ ? 1 : 0);
  if (fast_) writer.real(fast_->fixed).real(fast_->per_sample);
}

void CostFilter::restore(StateReader& reader) {
  *this = {};
  if (reader.count(1) == 0) return;
  unit_ = reader.real();
  units_ = reader.real();
  reader.require(unit_ > 0 && units_ > 0, "a batch without samples");
  shape_ = CostLine(1, 1);
  shape_->restore(reader);
  for (Level& level : levels_) {
    level.log_seconds = reader.real(), level.variance = reader.real(), level.error = reader.real();
    reader.require(level.variance >= 0, "a variance is negative");
  }
  chosen_ = reader.count(speeds.size() - 1);
  noise_ = reader.real();
  load_ = reader.real();
  memory_ = reader.real();
  cpu_signal_.restore(reader);
  memory_signal_.restore(reader);
  for (std::optional<Odd>* maybe : {&odd_, &believed_}) {
    if (reader.count(1) == 0) continue;
    Odd one{};
    one.units = reader.real(), one.seconds = reader.real(), one.surprise = reader.real();
    one.held = reader.count(1) == 1;
    *maybe = one;
  }
  settled_ = reader.count();
  jumped_ = reader.count(1) == 1;
  rounds_ = reader.count();
  if (reader.count(1) == 0) return;
  const double fixed = reader.real();
  fast_ = Affine{fixed, reader.real()};
}

}  // namespace steelyard::balancing
