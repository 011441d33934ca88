// What a scenario's workers really compute, where it says train = true: a model, on data. The world knows no
// more of it than this, so that it builds and runs without a line of linear algebra; sim/training/ does it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "protocol/messages.h"

namespace steelyard::sim {

// What a worker's computing gives: what it pushes, and what it reports beside the time.
struct Computation {
  std::vector<GradientReady> finals;
  double loss = 0;
  std::uint64_t correct = 0;
};

// Computes for all workers of one simulation, one piece after the other. The same orders have the same
// answers, bit for bit.
class Trainer {
 public:
  virtual ~Trainer() = default;
  virtual Computation compute(const Compute& order) = 0;
};

class Training {
 public:
  virtual ~Training() = default;
  // Model, data, layout, optimizer and learning rate of the job, and how often it is evaluated.
  virtual void describe(Job& job) const = 0;
  virtual void initialize(std::span<float> parameters, std::uint64_t seed) const = 0;
  [[nodiscard]] virtual std::unique_ptr<Trainer> trainer(const Job& job) const = 0;
};

}  // namespace steelyard::sim
