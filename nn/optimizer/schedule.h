// The learning rate as a pure function of the place in the training, so that every machine knows it without a
// word on the wire, and a training that is resumed, or whose batches were resized, goes on with the rate it
// would have had.
//
// With e = epochs done (fractions count), E = epochs, W = warmup * E:
//
//   warm-up, e < W   base * e / W
//   constant         base
//   step             base * step_factor ^ floor(e / step_epochs)     (e from the start, warm-up included)
//   cosine           final + (base - final) * (1 + cos(pi * t)) / 2,  t = (e - W) / (E - W), at most 1
//   table            rates[i], without a warm-up; behind the last entry, that one
//                      s >= 1   i = floor(e / s)                                         s = step_epochs
//                      s < 1    i = floor(e) * R + floor((e - floor(e)) / s),            R = ceil(1 / s)
//
// A table with s < 1 counts anew with each epoch, for the last round of an epoch may be shorter: where s is
// batch / samples, each round has an entry of its own.
//
// The warm-up is that of Goyal et al., "Accurate, large minibatch SGD" (2017), section 2.2, begun at zero;
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
  double step_epochs = 30;      // table: each entry is for so many epochs; step: so many between two cuts,
  double step_factor = 0.1;     //       each by this factor
  double final = 0;             // cosine: the rate at the end
  std::vector<double> rates{};  // table: not factors on the base, but rates; none are the base alone
};

inline constexpr std::size_t max_rates = 1'000'000;  // in a table

// Throws Failure (configuration) for a schedule that gives no usable rates.
void validate(const Schedule& schedule);

// `epochs_done` >= 0; behind the end the last rate goes on (steps go on falling).
double learning_rate(const Schedule& schedule, double epochs_done);

}  // namespace steelyard::nn
