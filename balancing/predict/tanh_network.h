// The small network inside NARX: one hidden layer of tanh units and a linear output, trained by Adam on
// Huber's loss.
//
//   y = w2 . tanh(W1 x + b1) + b2
//
// Adam is Kingma and Ba, ICLR 2015, algorithm 1 (beta1 0.9, beta2 0.999, epsilon 1e-8), with the decoupled
// weight decay of Loshchilov and Hutter, ICLR 2019. All parameters are in one flat vector, so the network is
// copyable.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "balancing/state.h"

namespace steelyard::balancing {

class TanhNetwork {
 public:
  struct Training {
    double rate = 0.01;
    double decay = 0;  // of every parameter per step, times the rate
    // Larger errors count linearly, smaller ones by their square (Huber, Ann. Math. Statist. 1964).
    double linear_from = HUGE_VAL;
  };

  // The hidden layer starts at random values from the seed, the output layer at 0, so an untrained network
  // returns 0.
  TanhNetwork(std::size_t inputs, std::size_t hidden, std::uint64_t seed);

  [[nodiscard]] double operator()(std::span<const double> input) const;

  // One Adam step on the mean loss of (y - target); `inputs` holds one row of inputs per target.
  void learn(std::span<const double> inputs, std::span<const double> targets, Training training);

  void serialize(auto& fields) {
    const std::size_t size = parameters_.size();
    for (std::vector<double>* values : {&parameters_, &moment1_, &moment2_}) {
      fields(at_most(size, *values));
      fields.require(values->size() == size, "a network of another size");
    }
    fields(steps_);
  }

 private:
  std::size_t inputs_, hidden_;
  std::vector<double> parameters_;         // W1 by columns, b1, w2, b2
  std::vector<double> moment1_, moment2_;  // Adam's, one per parameter
  std::uint64_t steps_ = 0;
};

}  // namespace steelyard::balancing
