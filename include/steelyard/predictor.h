// What will it be in the next round? One predictor follows one positive quantity of one
// worker, usually its speed.
//
// The worker's CPU share and memory are leading signals: known when a round begins, while the value is known
// only after it. -1 stands for unknown. Pure and owned by one thread, as policies are.
#pragma once

#include <steelyard/choice.h>

#include <cstdint>
#include <memory>
#include <string>

namespace steelyard::balancing {

// A prediction stays between these multiples of the last value.
inline constexpr double lowest_step = 0.25, highest_step = 4;

class Predictor {
 public:
  virtual ~Predictor() = default;

  // One round: the value measured in it, and the signals as they were. A value that is not positive and
  // finite is ignored.
  virtual void observe(double value, double cpu, double memory) = 0;

  // Positive; 0 while nothing has been observed.
  [[nodiscard]] virtual double predict(double cpu_now, double memory_now) const = 0;

  [[nodiscard]] virtual std::string save() const = 0;
  virtual void restore(const std::string& text) = 0;  // Failure (io), and no change, on a foreign text
};

// The seed is for those that start at random; none has options yet.
using PredictorTable = Choices<std::unique_ptr<Predictor>(std::uint64_t seed, const Options& options)>;

}  // namespace steelyard::balancing
