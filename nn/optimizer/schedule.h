// The learning rate as a pure function of the progress of the training, so that every machine knows it
// without a message, and a training continues after a resumption, or with batches of another size, with the
// same rates.
//
// With e = epochs done (fractions count), E = epochs, W = warmup * E:
//
//   warm-up, e < W   base * e / W
//   constant         base
//   step             base * step_factor ^ floor(e / step_epochs)     (e from the start, warm-up included)
//   cosine           final + (base - final) * (1 + cos(pi * t)) / 2,  t = (e - W) / (E - W), at most 1
//   table            rates[i], without a warm-up; the last entry continues
//                      s >= 1   i = floor(e / s)                                         s = step_epochs
//                      s < 1    i = floor(e) * R + floor((e - floor(e)) / s),            R = ceil(1 / s)
//
// A table with s < 1 restarts its count in each epoch, since the last round of an epoch may be shorter: if s
// is batch / samples, each round has its own entry.
//
// The warm-up is that of Goyal et al., "Accurate, large minibatch SGD" (2017), section 2.2, starting at zero;
// the cosine is Loshchilov and Hutter, "SGDR" (2017), equation 5, without restarts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace steelyard::nn {

struct Schedule {
  enum class Kind : std::uint8_t { constant, step, cosine, table };

  Kind kind = Kind::constant;
  double base = 0.1;            // the rate after the warm-up
  double warmup = 0;            // share of the whole training, in [0, 1)
  double epochs = 1;            // length of the whole training
  double step_epochs = 30;      // table: epochs per entry; step: epochs between two cuts,
  double step_factor = 0.1;     // each by this factor
  double final = 0;             // cosine: the rate at the end
  std::vector<double> rates{};  // table: rates, not factors on the base; empty: the base
};

inline constexpr std::size_t max_rates = 1'000'000;  // of a table

// Throws Failure (configuration) for a schedule without usable rates.
void validate(const Schedule& schedule);

// `epochs_done` >= 0; after the end the last rate continues (steps continue to fall).
double learning_rate(const Schedule& schedule, double epochs_done);

}  // namespace steelyard::nn
