#include "balancing/cost/cost_filter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace steelyard::balancing {
namespace {

constexpr double early_noise = 3;     // times the noise, over the rounds that were measured
constexpr double least_drift = 0.01;  // of the line, relative, per round
constexpr double cold = 0.5;          // of the time per sample of the first batch: it was a cold one
constexpr double clear_step = 0.05;   // of the logarithm of the time, known from the signals
constexpr double nearly = 0.85;       // of a time known from before
constexpr std::uint64_t enough = 3;   // measurements that say what is usual

}  // namespace

CostFilter::Verdict CostFilter::observe(TimedBatch batch, const Signals& told, bool believe) {
  ++rounds_;
  jumped_ = false;
  if (profile_) adopt_profile(batch.samples);
  const double per_sample = batch.seconds / batch.samples;
  const bool was_cold = rounds_ == 2 && rules_.cold_start && per_sample < cold * level_.seconds() / unit_;
  if (empty() || was_cold) {
    first(batch, told);
    return Verdict::none;
  }
  go_to(batch.samples / unit_);
  // What the signals foretell is part of the prediction and no surprise.
  const double known = signals_.foretold(told), growth = std::log(batch.seconds / level_.seconds());
  const double surprise = growth - known, deviation = level_.deviation(static_cast<double>(rounds_));
  const bool explained = signals_.explain(surprise, told);
  signals_.learn(growth, deviation, told);
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

void CostFilter::first(TimedBatch batch, const Signals& told) {
  unit_ = batch.samples;
  units_ = 1;
  shape_ = CostLine(1, batch.seconds);
  level_ = Level(batch.seconds, rules_);
  followed_ = 1;
  signals_.start(told);
}

// As if a batch of this size had been measured before, and taken what the profile says.
void CostFilter::adopt_profile(double samples) {
  const Affine profile = *std::exchange(profile_, std::nullopt);
  first({samples, profile(samples)}, {});
  shape_ = CostLine::of_profile(profile.fixed, profile.per_sample * samples);
  level_ = Level(profile(samples), rules_, CostLine::profile_doubt);
}

// From here on the level refers to batches of this size, with the doubt that the shape adds on the way.
void CostFilter::go_to(double units) {
  const double growth = rules_.fixed_cost ? shape_->at(units) / shape_->at(units_) : units / units_;
  level_.shift(std::log(growth), rules_.shape_doubt ? shape_->doubt(units_, units) : 0);
  units_ = units;
}

void CostFilter::follow(double seconds) {
  ++followed_;
  level_.follow(seconds, static_cast<double>(rounds_));
  shape_->drift(std::max(level_.drift(), least_drift));
  // With few measurements the noise is a guess, and a shape learned from noise sends a good worker to rest.
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
  return std::hypot(level_.doubt(), shape_->doubt(units_, samples / unit_));
}

void CostFilter::save(StateWriter& writer) const {
  writer.count(shape_ ? 1 : 0);
  if (!shape_) return;
  writer.real(unit_).real(units_);
  shape_->save(writer);
  level_.save(writer);
  changes_.save(writer);
  signals_.save(writer);
  writer.count(jumped_ ? 1 : 0).count(followed_).count(rounds_);
  writer.count(fast_ ? 1 : 0);
  if (fast_) writer.real(fast_->fixed).real(fast_->per_sample);
}

void CostFilter::restore(StateReader& reader) {
  *this = CostFilter(rules_);
  if (reader.count(1) == 0) return;
  unit_ = reader.real();
  units_ = reader.real();
  reader.require(unit_ > 0 && units_ > 0, "a batch without samples");
  shape_ = CostLine(1, 1);
  shape_->restore(reader);
  level_.restore(reader);
  changes_.restore(reader);
  signals_.restore(reader);
  jumped_ = reader.count(1) == 1;
  followed_ = reader.count();
  rounds_ = reader.count();
  if (reader.count(1) == 0) return;
  const double fixed = reader.real();
  fast_ = Affine{fixed, reader.real()};
}

}  // namespace steelyard::balancing
