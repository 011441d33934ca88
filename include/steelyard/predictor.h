// Predictor: forecasts one positive quantity of one worker for the next round, usually its speed in samples
// per second.
//
// The worker's CPU share (0..1) and available memory (MB) are leading signals: they are read before a round
// begins, while the value is known only after it. -1 means unknown. Like policies, predictors are pure and
// are used by one thread.
#pragma once

#include <steelyard/choice.h>

#include <cstdint>
#include <memory>
#include <string>

namespace steelyard::balancing {

// Limits of a prediction, as multiples of the last value.
inline constexpr double lowest_step = 0.25, highest_step = 4;

class Predictor {
 public:
  virtual ~Predictor() = default;

  // Adds one round: its measured value, and the signals read before it, with which it was planned. A value
  // that is not positive and finite is ignored.
  virtual void observe(double value, double cpu, double memory) = 0;

  // Positive; 0 if nothing has been observed.
  [[nodiscard]] virtual double predict(double cpu_now, double memory_now) const = 0;

  [[nodiscard]] virtual std::string save() const = 0;
  virtual void restore(const std::string& text) = 0;  // throws Failure (io), unchanged, on an invalid text
};

// The seed is for random initialisation. Built-in predictors have no options yet.
using PredictorTable = Choices<std::unique_ptr<Predictor>(std::uint64_t seed, const Options& options)>;

}  // namespace steelyard::balancing
