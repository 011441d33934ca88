#include "balancing/cost/cost_filter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace steelyard::balancing {
namespace {

constexpr double first_fixed = 0.1, first_shape = 0.6, first_level = 0.3;  // relative to the first time
constexpr double jump_level = 0.7, jump_fixed = 0.15;  // relative: after a change, or for a new cost
constexpr double least_slope = 0.02;                   // share of the time, per batch size

constexpr double far = 4;          // deviations
constexpr double least_far = 0.1;  // relative: smaller distances are never far

constexpr std::array speeds{0.03, 1.5};  // drift per round, in units of the noise
constexpr double first_noise = 0.05, least_noise = 0.004;
constexpr double error_memory = 0.93;  // per round, of noise and errors
constexpr double clear_lead = 0.8;     // ratio of errors below which the other average takes over
constexpr double guessing = 2;         // number of measurements that the first guess of the noise counts as
constexpr double jump_doubt = 0.7;     // after a sudden change

constexpr double early_noise = 3;     // factor on the noise, decreasing with the measured rounds
constexpr double least_drift = 0.01;  // of the line, relative, per round
constexpr double cold = 0.5;          // below this ratio of times per sample, the first batch was a cold
                                      // start
constexpr double clear_step = 0.05;   // of the logarithm of the time, as predicted by the signals
constexpr double nearly = 0.85;       // ratio to a time known from before
constexpr std::uint64_t enough = 3;   // measurements needed to know what is usual

// The deviation of a sum of independent terms, far from the limits of a double; std::hypot would need glibc
// 2.35.
double combined(double a, double b) { return std::sqrt(a * a + b * b); }

}  // namespace

CostLine::CostLine(double units, double seconds)
    : CostLine(first_fixed * seconds, (1 - first_fixed) * seconds / units, units, first_shape * seconds) {}

CostLine CostLine::of_profile(double fixed, double slope) {
  return {fixed, slope, 1, profile_doubt * (fixed + slope)};
}

CostLine::CostLine(double fixed, double slope, double units, double doubt) : fixed_(fixed), slope_(slope) {
  // Level: both states change together. Shape: one state grows as the other shrinks.
  const double shape = doubt * doubt, level = first_level * first_level;
  p00_ = shape + level * fixed_ * fixed_;
  p01_ = -shape / units + level * fixed_ * slope_;
  p11_ = shape / (units * units) + level * slope_ * slope_;
}

void CostLine::drift(double q) {
  const double all = q * q;
  p00_ += all * fixed_ * fixed_;
  p01_ += all * fixed_ * slope_;
  p11_ += all * slope_ * slope_;
}

void CostLine::loosen() {
  const double level = jump_level * jump_level;
  p00_ += level * fixed_ * fixed_ + std::pow(jump_fixed * at(1), 2);
  p01_ += level * fixed_ * slope_;
  p11_ += level * slope_ * slope_;
}

void CostLine::scale(double factor) {
  fixed_ *= factor, slope_ *= factor;
  p00_ *= factor * factor, p01_ *= factor * factor, p11_ *= factor * factor;
}

void CostLine::update(double units, double seconds, double noise) {
  const double k0 = p00_ + p01_ * units, k1 = p01_ + p11_ * units;  // P h
  const double predicted = at(units);
  // For a time longer than predicted, the noise is relative to the measured time.
  const double measured = std::pow(noise * std::max(predicted, seconds), 2);
  const double variance = k0 + k1 * units + measured;
  const double error = seconds - predicted;
  fixed_ += k0 / variance * error;
  slope_ += k1 / variance * error;
  p00_ -= k0 * k0 / variance;
  p01_ -= k0 * k1 / variance;
  p11_ -= k1 * k1 / variance;
  // Rounding must not make a variance negative.
  p00_ = std::max(p00_, 0.0), p11_ = std::max(p11_, 0.0);
  keep_signs(units);
}

void CostLine::keep_signs(double units) {
  const double time = std::max(at(units), 1e-12);
  const double flattest = least_slope * time / units;
  if (slope_ < flattest) {
    slope_ = flattest;
    fixed_ = time - slope_ * units;
  }
  if (fixed_ < 0) {
    // The line through the origin with the same time at this size.
    fixed_ = 0;
    slope_ = time / units;
  }
}

// To first order: the variance of h' w, with h the difference of the two relative gradients.
double CostLine::doubt(double from, double to) const {
  const double a = at(from), b = at(to);
  const double h0 = 1 / b - 1 / a, h1 = to / b - from / a;
  return std::sqrt(std::max(0.0, h0 * h0 * p00_ + 2 * h0 * h1 * p01_ + h1 * h1 * p11_));
}

SuddenChange::Answer SuddenChange::judge(double surprise, double deviation, bool believe) {
  const double far_from = std::max(far * deviation, least_far);
  const Verdict verdict = judge_believed(surprise);
  const std::optional<double> held = std::exchange(held_, std::nullopt);
  if (std::abs(surprise) <= far_from) return {.follow = true, .verdict = held ? Verdict::accident : verdict};
  if (held && *held * surprise > 0) {
    // If two changes agree, their mean is used. Otherwise one contains an outlier on top of the change, and
    // the smaller one is what both have in common.
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

// A change followed at once has lasted if the next time is closer to the new level than to the old one.
SuddenChange::Verdict SuddenChange::judge_believed(double surprise) {
  const std::optional<double> change = std::exchange(believed_, std::nullopt);
  if (!change) return Verdict::none;
  return std::abs(surprise) < std::abs(*change) / 2 ? Verdict::lasted : Verdict::accident;
}

Level::Level(double seconds, const Rules& rules, double doubt) : noise_(first_noise), rules_(rules) {
  believed_ = rules.slow_average ? 0 : 1;
  averages_.fill({std::log(seconds), doubt * doubt, 0});
}

double Level::seconds() const { return std::exp(averages_[believed_].log_seconds); }

double Level::doubt() const { return std::sqrt(averages_[believed_].variance); }

// With few measurements the noise itself is a guess.
double Level::deviation(double rounds) const { return (1 + guessing / rounds) * combined(doubt(), noise_); }

double Level::drift() const { return speeds[believed_] * noise_; }

void Level::Average::update(double measured, double noise) {
  const double gain = variance / (variance + noise * noise);
  log_seconds += gain * (measured - log_seconds);
  variance *= 1 - gain;
}

void Level::shift(double log_factor, double doubt) {
  for (Average& average : averages_) {
    average.log_seconds += log_factor;
    average.variance += doubt * doubt;
  }
}

void Level::jump(double seconds) {
  for (Average& average : averages_) {
    average.variance += jump_doubt * jump_doubt;
    average.update(std::log(seconds), noise_);
  }
}

void Level::follow(double seconds, double rounds) {
  const double measured = std::log(seconds);
  for (std::size_t k = 0; k < averages_.size(); ++k) {
    Average& average = averages_[k];
    average.variance += std::pow(speeds[k] * noise_, 2);
    const double square = std::pow(measured - average.log_seconds, 2);
    average.error = error_memory * average.error + (1 - error_memory) * square;
    if (k == believed_) {
      const double explained = rules_.noise_trust ? average.variance : 0;
      const double trust = noise_ * noise_ / (noise_ * noise_ + explained);
      const double share = std::max(1 - error_memory, 1 / (guessing + rounds)) * trust;
      noise_ = std::max(least_noise, std::sqrt((1 - share) * noise_ * noise_ + share * square));
    }
    average.update(measured, noise_);
  }
  if (!rules_.slow_average || !rules_.quick_average) return;
  if (averages_[1 - believed_].error < clear_lead * averages_[believed_].error) believed_ = 1 - believed_;
}

CostFilter::Verdict CostFilter::observe(TimedBatch batch, const Signals& before, const Signals& during,
                                        bool believe) {
  ++rounds_;
  jumped_ = false;
  if (profile_) adopt_profile(batch.samples);
  const double per_sample = batch.seconds / batch.samples;
  const bool was_cold = rounds_ == 2 && rules_.cold_start && per_sample < cold * level_.seconds() / unit_;
  if (empty() || was_cold) {
    first(batch, during);
    return Verdict::none;
  }
  go_to(batch.samples / unit_);
  // The change that the load explains is not a surprise.
  const double known = signals_.explained(during), growth = std::log(batch.seconds / level_.seconds());
  const double surprise = growth - known, deviation = level_.deviation(static_cast<double>(rounds_));
  const bool explained = signals_.explain(surprise, during);
  signals_.learn(growth, deviation, before, during);
  level_.shift(known, 0);
  shape_->scale(std::exp(known));
  jumped_ = std::abs(known) > clear_step;
  const bool at_once = believe || explained || was_as_fast(batch.seconds);
  const SuddenChange::Answer answer =
      rules_.accidents ? changes_.judge(surprise, deviation, at_once) : SuddenChange::Answer{.follow = true};
  if (answer.jump) jump(*answer.jump, answer.confirmed);
  if (answer.follow) follow(batch.seconds);
  return answer.verdict;
}

void CostFilter::first(TimedBatch batch, const Signals& during) {
  unit_ = batch.samples;
  units_ = 1;
  shape_ = CostLine(1, batch.seconds);
  level_ = Level(batch.seconds, rules_);
  followed_ = 1;
  signals_.start(during);
}

// Acts as if a batch of this size had been measured, with the profile's time.
void CostFilter::adopt_profile(double samples) {
  const Affine profile = *std::exchange(profile_, std::nullopt);
  first({samples, profile(samples)}, {});
  shape_ = CostLine::of_profile(profile.fixed, profile.per_sample * samples);
  level_ = Level(profile(samples), rules_, CostLine::profile_doubt);
}

// The level then refers to batches of this size, with the uncertainty that the shape adds.
void CostFilter::go_to(double units) {
  const double growth = rules_.fixed_cost ? shape_->at(units) / shape_->at(units_) : units / units_;
  level_.shift(std::log(growth), rules_.shape_doubt ? shape_->doubt(units_, units) : 0);
  units_ = units;
}

void CostFilter::follow(double seconds) {
  ++followed_;
  level_.follow(seconds, static_cast<double>(rounds_));
  shape_->drift(std::max(level_.drift(), least_drift));
  // With few measurements the noise is a guess, and a shape learned from noise would send a good worker to
  // rest.
  const double early = 1 + early_noise / static_cast<double>(rounds_);
  shape_->update(units_, seconds, early * level_.noise());
}

void CostFilter::jump(double change, bool confirmed) {
  const double before = level_.seconds(), after = before * std::exp(change);
  if (change > 0 && (!fast_ || before < (*fast_)(units_))) {
    const double scale = before / shape_->at(units_);
    fast_ = {scale * shape_->fixed(), scale * shape_->slope()};
  }
  level_.jump(after);
  if (rules_.loosening) shape_->loosen();
  shape_->update(units_, after, level_.noise());
  jumped_ = true;
  followed_ = confirmed ? 2 : 0;
}

bool CostFilter::was_as_fast(double seconds) const {
  return fast_ && rules_.known_speeds && seconds < level_.seconds() && seconds > nearly * (*fast_)(units_);
}

bool CostFilter::changing(const Signals& now) const {
  return jumped_ || followed_ < enough || std::abs(signals_.foretold(now)) > clear_step;
}

Affine CostFilter::curve(const Signals& now) const {
  const double seconds = level_.seconds() * std::exp(signals_.foretold(now));
  if (!rules_.fixed_cost) return {0, seconds / units_ / unit_};
  const double scale = seconds / shape_->at(units_);
  return {scale * shape_->fixed(), scale * shape_->slope() / unit_};
}

double CostFilter::doubt(double samples) const {
  return combined(level_.doubt(), shape_->doubt(units_, samples / unit_));
}

}  // namespace steelyard::balancing
