#include "balancing/predict/rnn.h"

#include <algorithm>
#include <cmath>

#include "balancing/state.h"
#include "core/random.h"

namespace steelyard::balancing {
namespace {

constexpr std::uint64_t rnn_first_lesson = 4, rnn_first_exam = 16, rnn_first_answer = 32;  // values
constexpr double rate = 0.05, largest_gradient = 1;
constexpr double scale_memory = 0.97, rnn_exam_memory = 0.95;  // per value
constexpr double least_deviation = 1e-3;                       // relative to the mean
constexpr double rnn_farthest = 4;                             // deviations

// Positions of the parameters of one unit: W, U, b, w.
struct Unit {
  std::size_t at, inputs, hidden;
  Unit(std::size_t j, std::size_t x, std::size_t h) : at(j * (x + h + 2)), inputs(x), hidden(h) {}
  [[nodiscard]] std::size_t input(std::size_t i) const { return at + i; }
  [[nodiscard]] std::size_t recurrent(std::size_t i) const { return at + inputs + i; }
  [[nodiscard]] std::size_t bias() const { return at + inputs + hidden; }
  [[nodiscard]] std::size_t output() const { return at + inputs + hidden + 1; }
};

}  // namespace

Rnn::Rnn(std::uint64_t seed) : weights_(size) {
  Random random(seed);
  for (std::size_t j = 0; j < hidden; ++j) {
    const Unit unit(j, inputs, hidden);
    for (std::size_t i = 0; i < inputs; ++i) weights_[unit.input(i)] = 0.5 * random.normal();
    for (std::size_t i = 0; i < hidden; ++i) weights_[unit.recurrent(i)] = 0.3 * random.normal();
  }
}

void Rnn::observe(double value, double cpu, double memory) {
  if (!(value > 0 && std::isfinite(value))) return;
  if (seen_ >= rnn_first_exam) {
    // Both predict this value before they learn it.
    const auto follow = [&](double& error, double answer) {
      error = rnn_exam_memory * error + (1 - rnn_exam_memory) * (answer - value) * (answer - value);
    };
    follow(network_error_, network_answer(history_.size(), cpu, memory));
    follow(average_error_, average_.predict(cpu, memory));
  }
  if (seen_ >= rnn_first_lesson) {
    const std::size_t end = history_.size(), begin = end - std::min(end, truncation);
    const double target =
        std::clamp(scaled(value) - scaled(history_.back().value), -rnn_farthest, rnn_farthest);
    learn(forward(begin, end, cpu, memory), target);
  }
  ++seen_;
  average_.observe(value, cpu, memory);
  const auto known = [](double signal) { return std::isfinite(signal) && signal >= 0 ? signal : -1; };
  history_.push_back({value, known(cpu), known(memory)});
  if (history_.size() > truncation) history_.erase(history_.begin());
  const double weight = std::max(1 - scale_memory, 1 / static_cast<double>(seen_));
  const double away = value - mean_;
  mean_ += weight * away;
  const double variance = seen_ == 1 ? 0 : (1 - weight) * (deviation_ * deviation_ + weight * away * away);
  deviation_ = std::max(std::sqrt(variance), least_deviation * mean_);
  if (known(memory) >= 0) memory_mean_ += weight * (memory - memory_mean_);
}

Rnn::Input Rnn::input(const Moment& moment, double cpu, double memory) const {
  const double value = std::clamp(scaled(moment.value), -rnn_farthest, rnn_farthest);
  const double free = memory > 0 && memory_mean_ > 0 ? std::clamp(memory / memory_mean_ - 1, -1.0, 1.0) : 0;
  // Shares of the CPU lie in [0, 1]; twice the distance from the middle is of the order of 1.
  return {value, cpu >= 0 ? 2 * (cpu - 0.5) : 0, free};
}

// Step k gets value k and the signals of round k + 1, as known for the round to be predicted.
Rnn::Pass Rnn::forward(std::size_t begin, std::size_t end, double cpu, double memory) const {
  Pass pass;
  pass.h.push_back({});
  for (std::size_t k = begin; k < end; ++k) {
    const bool newest = k + 1 == end;
    pass.x.push_back(
        input(history_[k], newest ? cpu : history_[k + 1].cpu, newest ? memory : history_[k + 1].memory));
    State h;
    for (std::size_t j = 0; j < hidden; ++j) {
      const Unit unit(j, inputs, hidden);
      double sum = weights_[unit.bias()];
      for (std::size_t i = 0; i < inputs; ++i) sum += weights_[unit.input(i)] * pass.x.back()[i];
      for (std::size_t i = 0; i < hidden; ++i) sum += weights_[unit.recurrent(i)] * pass.h.back()[i];
      h[j] = std::tanh(sum);
    }
    pass.h.push_back(h);
  }
  pass.answer = weights_.back();
  for (std::size_t j = 0; j < hidden; ++j) {
    pass.answer += weights_[Unit(j, inputs, hidden).output()] * pass.h.back()[j];
  }
  return pass;
}

// One gradient step on (answer - target)^2 / 2.
void Rnn::learn(const Pass& pass, double target) {
  std::vector<double> gradient(size);
  const double error = pass.answer - target;
  gradient.back() = error;
  State dh{};
  for (std::size_t j = 0; j < hidden; ++j) {
    const std::size_t out = Unit(j, inputs, hidden).output();
    gradient[out] = error * pass.h.back()[j];
    dh[j] = error * weights_[out];
  }
  for (std::size_t k = pass.x.size(); k-- > 0;) {
    State before{};
    for (std::size_t j = 0; j < hidden; ++j) {
      const Unit unit(j, inputs, hidden);
      const double h = pass.h[k + 1][j], dz = dh[j] * (1 - h * h);
      gradient[unit.bias()] += dz;
      for (std::size_t i = 0; i < inputs; ++i) gradient[unit.input(i)] += dz * pass.x[k][i];
      for (std::size_t i = 0; i < hidden; ++i) {
        gradient[unit.recurrent(i)] += dz * pass.h[k][i];
        before[i] += dz * weights_[unit.recurrent(i)];
      }
    }
    dh = before;
  }
  double norm = 0;
  for (const double g : gradient) norm += g * g;
  norm = std::sqrt(norm);
  const double step = norm > largest_gradient ? rate * largest_gradient / norm : rate;
  for (std::size_t i = 0; i < size; ++i) weights_[i] -= step * gradient[i];
}

double Rnn::network_answer(std::size_t end, double cpu, double memory) const {
  const double last = history_.back().value;
  const Pass pass = forward(end - std::min(end, truncation), end, cpu, memory);
  const double answer = last + pass.answer * deviation_;
  return std::isfinite(answer) ? std::clamp(answer, lowest_step * last, highest_step * last) : last;
}

double Rnn::predict(double cpu_now, double memory_now) const {
  if (history_.empty()) return 0;
  if (seen_ >= rnn_first_answer && network_error_ <= average_error_) {
    return network_answer(history_.size(), cpu_now, memory_now);
  }
  const double last = history_.back().value;
  return std::clamp(average_.predict(cpu_now, memory_now), lowest_step * last, highest_step * last);
}

}  // namespace steelyard::balancing
