#include "balancing/predict/narx.h"

#include <algorithm>
#include <cmath>

#include "balancing/state.h"
#include "core/random.h"

namespace steelyard::balancing {
namespace {

constexpr std::size_t first_lesson = 8;  // rounds before training starts
constexpr std::size_t first_exam = 16;   // rounds before errors are compared
constexpr std::size_t first_answer = 32;
constexpr std::size_t steps = 4, batch = 16;  // of training per observation
// Most of what the network could learn from 128 noisy rounds is noise; a strong decay keeps it simple.
constexpr TanhNetwork::Training training{.rate = 0.01, .decay = 0.3, .linear_from = 0.25};
constexpr double exam_memory = 0.95;  // per round
constexpr double farthest = 4;        // deviations; larger ones are outliers
// A channel with a smaller deviation counts as constant: relative for values and memory, absolute for CPU
// shares.
constexpr double constant_relative = 1e-4, constant_share = 0.005;

}  // namespace

double Narx::Scale::normalised(double value) const {
  return per_unit > 0 && value >= 0 ? std::clamp((value - mean) * per_unit, -farthest, farthest) : 0;
}

Narx::Narx(std::uint64_t seed) : seed_(seed), network_(inputs, hidden, seed) {
  history_.reserve(capacity + 1);
}

void Narx::observe(double value, double cpu_then, double memory_then) {
  if (!(value > 0 && std::isfinite(value))) return;
  // All predict this value before they learn it, so that their errors are comparable.
  const auto follow = [&](double& error, double answer) {
    error = exam_memory * error + (1 - exam_memory) * (answer - value) * (answer - value);
  };
  if (seen_ > 0) {
    follow(average_error_, average_.predict(cpu_then, memory_then));
    follow(last_error_, history_.back()[speed]);
  }
  if (seen_ == first_exam) network_error_ = std::min(average_error_, last_error_);
  if (seen_ >= first_exam) follow(network_error_, network_answer(cpu_then, memory_then));
  ++seen_;
  average_.observe(value, cpu_then, memory_then);
  const auto known = [](double signal) { return std::isfinite(signal) && signal >= 0 ? signal : -1; };
  history_.push_back({value, known(cpu_then), known(memory_then)});
  if (history_.size() > capacity) history_.erase(history_.begin());
  measure_scales();
  if (seen_ >= first_lesson) train();
}

// Means and deviations of the known values. With a deviation near zero, the smallest change of a channel
// would become an input far beyond all that the network was trained on.
void Narx::measure_scales() {
  for (std::size_t c = 0; c < channels; ++c) {
    double count = 0, sum = 0, squares = 0;
    for (const Moment& moment : history_) {
      if (moment[c] >= 0) count += 1, sum += moment[c];
    }
    const double mean = count > 0 ? sum / count : 0;
    for (const Moment& moment : history_) {
      if (moment[c] >= 0) squares += (moment[c] - mean) * (moment[c] - mean);
    }
    const double deviation = count > 0 ? std::sqrt(squares / count) : 0;
    const double constant = c == cpu ? constant_share : constant_relative * mean;
    scales_[c] = {mean, deviation > constant ? 1 / deviation : 0};
  }
}

Narx::Input Narx::input(std::size_t index, double cpu_now, double memory_now) const {
  // `index` is the predicted round; history_[index - 1] is the previous one. The order is that of the
  // equation.
  Input x;
  std::size_t next = 0;
  for (std::size_t lag = 1; lag <= lags; ++lag)
    x[next++] = scales_[speed].normalised(history_[index - lag][speed]);
  for (const Channel signal : {cpu, memory}) {
    x[next++] = scales_[signal].normalised(signal == cpu ? cpu_now : memory_now);
    for (std::size_t lag = 1; lag <= lags; ++lag) {
      x[next++] = scales_[signal].normalised(history_[index - lag][signal]);
    }
  }
  return x;
}

void Narx::train() {
  // The first rounds lack a full set of lags, so they cannot be predicted.
  const std::uint64_t candidates = history_.size() - lags;
  std::array<double, inputs * batch> rows;
  std::array<double, batch> targets;
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t row = 0; row < batch; ++row) {
      // The newest round is in every batch, the others are drawn. Draws are hashes of their place, so no
      // generator state needs saving.
      const std::uint64_t draw = hash(seed_, seen_, step, row) % candidates;
      const std::size_t index = row == 0 ? history_.size() - 1 : lags + draw;
      const Input x = input(index, history_[index][cpu], history_[index][memory]);
      std::copy(x.begin(), x.end(), rows.begin() + static_cast<std::ptrdiff_t>(row * inputs));
      targets[row] = scales_[speed].normalised(history_[index][speed]);
    }
    network_.learn(rows, targets, training);
  }
}

double Narx::network_answer(double cpu_now, double memory_now) const {
  const Scale& scale = scales_[speed];
  if (scale.per_unit == 0) return scale.mean;  // all values were equal: no scaling
  const double last = history_.back()[speed];
  const double answer = scale.mean + network_(input(history_.size(), cpu_now, memory_now)) / scale.per_unit;
  if (!std::isfinite(answer)) return last;
  return std::clamp(answer, lowest_step * last, highest_step * last);
}

double Narx::simple_answer() const {
  const double last = history_.back()[speed];
  if (last_error_ < average_error_) return last;
  return std::clamp(average_.predict(-1, -1), lowest_step * last, highest_step * last);
}

double Narx::predict(double cpu_now, double memory_now) const {
  if (history_.empty()) return 0;
  const bool leads = seen_ >= first_answer && network_error_ <= std::min(average_error_, last_error_);
  return leads ? network_answer(cpu_now, memory_now) : simple_answer();
}

}  // namespace steelyard::balancing
