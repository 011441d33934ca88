#include "balancing/cost/cost_filter.h"

#include <algorithm>
#include <cmath>

namespace steelyard::balancing {
namespace {

constexpr double first_noise = 0.05, least_noise = 0.004;
constexpr double noise_memory = 0.93, error_memory = 0.85;  // per round
constexpr double clear_lead = 0.8;            // of the error of the line in use: only then another takes over
constexpr double odd = 2.5, far = 4;          // deviations
constexpr double least_odd = 0.03, least_far = 0.1;  // relative: less is never called odd, or far
constexpr double clear_load = 0.2;            // move of the load that makes a slow round no accident
constexpr double nearly = 0.85;               // of a time known from before

}  // namespace

CostFilter::Verdict CostFilter::observe(TimedBatch batch, double cpu, bool believe) {
  if (empty()) {
    first(batch, cpu);
    return Verdict::none;
  }
  const double units = batch.samples / unit_, seconds = batch.seconds;
  const Verdict verdict = judge_last(units, seconds);
  // The signal was known before the round, so what it says is part of the prediction.
  const double load = cpu >= 0 && loaded_ ? LeadingSignal::load(cpu) - load_ : 0;
  const double known = std::exp(signal_.gain() * load);
  const double own = lines_[chosen_].doubt(units);
  const double deviation = std::hypot(own, noise_);
  const double predicted = lines_[chosen_].at(units);
  listen(std::log(seconds / predicted), cpu, deviation);
  for (CostLine& line : lines_) line.scale(known);
  const double surprise = std::log(seconds / (known * predicted));

  const bool is_far = std::abs(surprise) > std::max(far * deviation, least_far);
  const bool is_odd = std::abs(surprise) > std::max(odd * deviation, least_odd);
  const bool again = is_odd && odd_ && odd_->surprise * surprise > 0;
  const bool corroborated = is_far && load * surprise > 0 && std::abs(load) > clear_load;
  const bool at_once = is_far && (believe || corroborated || was_as_fast(units, seconds));
  if (again) {
    const Odd before = *odd_;
    // Two that agree are both followed; otherwise only the newer one says how it is now.
    const double change = std::abs(before.surprise - surprise);
    const bool agree = before.held && change < std::max(far * deviation, least_far);
    jump(agree ? before.units : units, agree ? before.seconds : seconds, surprise);
    if (agree) follow(units, seconds);
    odd_.reset();
    return before.held ? Verdict::lasted : verdict;
  }
  if (at_once) {
    believed_ = Odd{units, seconds, surprise, false};
    jump(units, seconds, surprise);
    odd_.reset();
    return verdict;
  }
  const bool refuted = odd_ && odd_->held;
  odd_.reset();
  if (is_odd) odd_ = Odd{units, seconds, surprise, is_far};
  if (!is_far) follow(units, seconds);
  return refuted ? Verdict::accident : verdict;
}

void CostFilter::first(TimedBatch batch, double cpu) {
  unit_ = batch.samples;
  lines_.assign(speeds.size(), CostLine(1, batch.seconds));
  noise_ = first_noise;
  if (cpu >= 0) load_ = LeadingSignal::load(cpu), loaded_ = true;
}

// Was the change that was believed after one round a lasting one? It was if the next time is nearer to what
// came after it than to what was before.
CostFilter::Verdict CostFilter::judge_last(double units, double seconds) {
  if (!believed_) return Verdict::none;
  const Odd change = *believed_;
  believed_.reset();
  const double after = std::abs(std::log(seconds / lines_[chosen_].at(units)));
  return after < std::abs(change.surprise) / 2 ? Verdict::lasted : Verdict::accident;
}

bool CostFilter::was_as_fast(double units, double seconds) const {
  return fast_ && seconds < lines_[chosen_].at(units) && seconds > nearly * (*fast_)(units);
}

void CostFilter::listen(double surprise, double cpu, double deviation) {
  if (!(cpu >= 0)) return;
  const double load = LeadingSignal::load(cpu);
  if (loaded_) signal_.observe(surprise, load - load_, deviation * deviation);
  load_ = load, loaded_ = true;
}

void CostFilter::follow(double units, double seconds) {
  for (std::size_t k = 0; k < lines_.size(); ++k) {
    lines_[k].drift(speeds[k] * noise_);
    // Errors are judged before the line has seen the measurement; one far off counts as three deviations.
    const double error = std::log(seconds / lines_[k].at(units));
    const double most = 3 * std::hypot(noise_, lines_[k].doubt(units));
    const double square = std::min(error * error, most * most);
    errors_[k] = error_memory * errors_[k] + (1 - error_memory) * square;
    if (k == chosen_) {
      // Only what the line's own doubt does not explain is noise.
      const double doubt = lines_[k].doubt(units), trust = noise_ * noise_ / (noise_ * noise_ + doubt * doubt);
      const double share = (1 - noise_memory) * trust;
      noise_ = std::max(least_noise, std::sqrt((1 - share) * noise_ * noise_ + share * square));
    }
    lines_[k].update(units, seconds, noise_);
  }
  const auto best = static_cast<std::size_t>(std::ranges::min_element(errors_) - errors_.begin());
  if (errors_[best] < clear_lead * errors_[chosen_]) chosen_ = best;
}

void CostFilter::jump(double units, double seconds, double surprise) {
  const CostLine& line = lines_[chosen_];
  if (surprise > 0 && (!fast_ || line.at(units) < (*fast_)(units))) fast_ = {line.fixed(), line.slope()};
  for (CostLine& each : lines_) {
    each.loosen();
    each.update(units, seconds, noise_);
  }
}

Affine CostFilter::curve(double cpu_now) const {
  const CostLine& line = lines_[chosen_];
  const double load = cpu_now >= 0 && loaded_ ? LeadingSignal::load(cpu_now) - load_ : 0;
  const double known = std::exp(signal_.gain() * load);
  return {known * line.fixed(), known * line.slope() / unit_};
}

double CostFilter::doubt(double samples) const { return lines_[chosen_].doubt(samples / unit_); }

void CostFilter::save(StateWriter& writer) const {
  writer.real(unit_).count(lines_.size());
  for (const CostLine& line : lines_) line.save(writer);
  for (const double error : errors_) writer.real(error);
  writer.count(chosen_).real(noise_).real(load_).count(loaded_ ? 1 : 0);
  signal_.save(writer);
  for (const std::optional<Odd>* maybe : {&odd_, &believed_}) {
    writer.count(*maybe ? 1 : 0);
    if (!*maybe) continue;
    const Odd& one = **maybe;
    writer.real(one.units).real(one.seconds).real(one.surprise).count(one.held ? 1 : 0);
  }
  writer.count(fast_ ? 1 : 0);
  if (fast_) writer.real(fast_->fixed).real(fast_->per_sample);
}

void CostFilter::restore(StateReader& reader) {
  unit_ = reader.real();
  const std::uint64_t lines = reader.count(speeds.size());
  reader.require(unit_ > 0 && (lines == 0 || lines == speeds.size()), "a worker with some of its lines");
  lines_.assign(lines, CostLine(1, 1));
  for (CostLine& line : lines_) line.restore(reader);
  for (double& error : errors_) error = reader.real();
  chosen_ = reader.count(speeds.size() - 1);
  noise_ = reader.real();
  load_ = reader.real();
  loaded_ = reader.count(1) == 1;
  signal_.restore(reader);
  for (std::optional<Odd>* maybe : {&odd_, &believed_}) {
    maybe->reset();
    if (reader.count(1) == 0) continue;
    Odd one{};
    one.units = reader.real(), one.seconds = reader.real(), one.surprise = reader.real();
    one.held = reader.count(1) == 1;
    *maybe = one;
  }
  fast_.reset();
  if (reader.count(1) == 0) return;
  const double fixed = reader.real();
  fast_ = Affine{fixed, reader.real()};
}

}  // namespace steelyard::balancing
