#include "balancing/cost/cost_level.h"

#include <algorithm>
#include <cmath>

namespace steelyard::balancing {
namespace {

constexpr std::array speeds{0.03, 1.5};  // drift per round, in units of the noise
constexpr double first_noise = 0.05, least_noise = 0.004;
constexpr double error_memory = 0.93;     // per round, of noise and errors
constexpr double clear_lead = 0.8;        // of the other's error: less takes over
constexpr double guessing = 2;            // measurements that the first guess of the noise counts for
constexpr double jump_doubt = 0.7;        // after a sudden change
constexpr double most_log_seconds = 600;  // more or less is no time

}  // namespace

Level::Level(double seconds, const Rules& rules, double doubt) : noise_(first_noise), rules_(rules) {
  believed_ = rules.slow_average ? 0 : 1;
  averages_.fill({std::log(seconds), doubt * doubt, 0});
}

double Level::seconds() const { return std::exp(averages_[believed_].log_seconds); }

double Level::doubt() const { return std::sqrt(averages_[believed_].variance); }

// With few measurements the noise itself is a guess.
double Level::deviation(double rounds) const { return (1 + guessing / rounds) * std::hypot(doubt(), noise_); }

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

void Level::save(StateWriter& writer) const {
  for (const Average& average : averages_)
    writer.real(average.log_seconds).real(average.variance).real(average.error);
  writer.count(believed_).real(noise_);
}

void Level::restore(StateReader& reader) {
  for (Average& average : averages_) {
    average.log_seconds = reader.real(), average.variance = reader.real(), average.error = reader.real();
    reader.require(average.variance >= 0, "a variance is negative");
    reader.require(std::abs(average.log_seconds) < most_log_seconds, "no machine takes that long");
  }
  believed_ = reader.count(averages_.size() - 1);
  noise_ = reader.real();
}

}  // namespace steelyard::balancing
