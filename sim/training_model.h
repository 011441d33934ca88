// The computation of a scenario's workers if it sets train = true: a model and data. The world uses only this
// interface, so that it builds and runs without linear algebra; sim/training/ implements it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "protocol/messages.h"

namespace steelyard::sim {

// The result of a worker's computation: gradients to push, and values to report beside the time.
struct Computation {
  std::vector<GradientReady> finals;
  double loss = 0;
  std::uint64_t correct = 0;
};

// Computes for all workers of one simulation, one piece after the other. Equal orders give equal answers, bit
// for bit.
class Trainer {
 public:
  virtual ~Trainer() = default;
  virtual Computation compute(const Compute& order) = 0;
};

class Training {
 public:
  virtual ~Training() = default;
  // Sets the job's model, data, layout, optimizer, learning rate and evaluation interval.
  virtual void describe(Job& job) const = 0;
  virtual void initialize(std::span<float> parameters, std::uint64_t seed) const = 0;
  [[nodiscard]] virtual std::unique_ptr<Trainer> trainer(const Job& job) const = 0;
};

}  // namespace steelyard::sim
