// A small recurrent network (Elman, Cognitive Science 1990) over past values and the leading signals,
//
//   h(k) = tanh(W x(k) + U h(k-1) + b),     v(k+1) = last + w . h(k) + c,     x(k) = (value, cpu, memory)(k)
//
// with the signals of the predicted round, as known before it. Trained on line by truncated back-propagation
// through time (Williams and Peng, Neural Computation 1990): after each value, gradients flow back over the
// last 8 rounds from a state of 0, and one step of plain gradient descent with a clipped norm follows. 6
// units. The network predicts the difference from the last value; values are scaled by their moving average
// and deviation.
//
// Until 32 values are known, and whenever the network's recent errors are larger than the moving average's,
// the moving average (alpha 0.2) is used. Every prediction lies within [0.25, 4] times the last value.
#pragma once

#include <steelyard/predictor.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "balancing/predict/averages.h"
#include "balancing/state.h"

namespace steelyard::balancing {

class Rnn final : public Saved<Predictor, Rnn> {
 public:
  static constexpr char title[] = "rnn.1";
  explicit Rnn(std::uint64_t seed);

  void observe(double value, double cpu, double memory) override;
  [[nodiscard]] double predict(double cpu_now, double memory_now) const override;

  [[nodiscard]] Rnn anew() const { return Rnn(0); }
  void serialize(auto& fields) {
    fields(seen_, at_most(size, weights_), at_most(truncation, history_), mean_, deviation_, memory_mean_,
           average_, network_error_, average_error_);
    fields.require(weights_.size() == size, "a network of another size");
    for (const Moment& moment : history_) fields.require(moment.value > 0, "a value is not positive");
    fields.require(history_.size() == std::min<std::uint64_t>(seen_, truncation), "values are missing");
  }

 private:
  static constexpr std::size_t inputs = 3, hidden = 6, truncation = 8;
  static constexpr std::size_t size = hidden * (inputs + hidden + 2) + 1;
  using State = std::array<double, hidden>;
  using Input = std::array<double, inputs>;
  struct Moment {
    double value, cpu, memory;  // signals -1 if unknown
    void serialize(auto& fields) { fields(value, cpu, memory); }
  };
  struct Pass {
    std::vector<Input> x;
    std::vector<State> h;  // one more than x: h[0] is 0
    double answer = 0;     // in scaled units, as a difference from the last value
  };

  [[nodiscard]] double scaled(double value) const { return (value - mean_) / deviation_; }
  [[nodiscard]] Input input(const Moment& value_of, double cpu, double memory) const;
  // Through history_[begin, end), to the value after it; its signals are known.
  [[nodiscard]] Pass forward(std::size_t begin, std::size_t end, double cpu, double memory) const;
  void learn(const Pass& pass, double target);
  [[nodiscard]] double network_answer(std::size_t end, double cpu, double memory) const;

  std::uint64_t seen_ = 0;
  std::vector<double> weights_;  // W, U, b, w by unit; c
  std::vector<Moment> history_;  // the last rounds, oldest first
  double mean_ = 0, deviation_ = 1, memory_mean_ = 0;
  Ema average_;
  double network_error_ = 0, average_error_ = 0;  // recent mean squares
};

}  // namespace steelyard::balancing
