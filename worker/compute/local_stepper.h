// LocalStepper: the local steps of one piece, and how far they went (protocol/local_steps.h).
//
// With n the piece's positions, W its weight, and for each step its summed gradient G over n_s positions, its
// rate r, the optimizer's momentum mu and decay d, the range's factor f on the rate and on d, each its own
// (Range in core/layout.h), and the round's unit u:
//
//   g     = W / n_s * c * G + W * d * w_local     (c: clipping; 1 but for gradients that are too long)
//   m     = mu * m + g                            (m = 0 at first: nothing is kept from round to round)
//   s     = m        sgd, momentum                s = g + mu * m   nesterov
//   moved = moved + a * r / u * s,   w_local = w_local - r / W * s
//
// `moved` is what is pushed. a is 1, or where steps are balanced a(H) / a(tau), the walks of the round's
// steps and of the piece's (protocol/local_steps.h); with equal weights 1 too. All factors of a single step
// of plain SGD are exactly 1: it pushes the gradient itself, and no bit of it is lost.
//
// Ranges of other rules are walked by them (w: the parameters at the beginning; G: what the model left
// there):
//
//   mean   moved = moved + H / tau * W / n_s * G         w_local = w_local + 1 / n_s * G
//   ema    moved = W / n_s * G + keep * (moved - W * w)  w_local = keep * w + (1 - keep) / W * moved
//          (the first step: moved = W / n_s * G)
//
// with H / tau = 1 but for balanced steps that are weighed by their positions: differences add up as plain
// SGD's steps do.
// So w_local is the running average that the steps alone would have made, and the server's ordinary rule
// makes of the pushes the average of all w_local by weight; after one step, what bsp would have made of them.
//
// Belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.h"
#include "core/layout.h"
#include "protocol/job.h"
#include "protocol/messages.h"

namespace steelyard {

// FinalSlices: turns ranges of a gradient that are final into slices that are.
//
// A range may cover parts of slices and may come in any order, but each float only once in a piece.
class FinalSlices {
 public:
  explicit FinalSlices(const std::vector<Slice>& slices) : slices_(slices) {}

  // A new piece: nothing is final.
  void begin();
  // Floats [begin, end) are final. The slices that are now, the last one first.
  std::vector<std::uint32_t> take(std::uint64_t begin, std::uint64_t end);
  // All that is left is final.
  std::vector<std::uint32_t> take_rest();

 private:
  const std::vector<Slice>& slices_;  // in order, without gaps
  std::vector<std::uint64_t> open_;   // floats that may still change, by slice
};

// StepFunction: a level that changes with time, as a person writes it.
//
//   "4"                     always
//   "2, 6@10, 2@20"         2 at first, from second 10 on 6, from second 20 on 2 again
//   "2, 6@10, again@20"     the same over and over, every 20 seconds
class StepFunction {
 public:
  explicit StepFunction(double level) : steps_{{0, level}} {}
  // Nothing if it is not of the form above, if a level is not from `least` to `most`, or if times do not
  // rise.
  static std::optional<StepFunction> read(std::string_view text, double least, double most);

  [[nodiscard]] double at(double time_s) const;  // 0 or later
  [[nodiscard]] bool is_always(double level) const;

 private:
  struct Step {
    double from_s, level;
  };
  std::vector<Step> steps_;  // at least one, the first from 0 on
  double period_s_ = 0;      // time begins anew; 0: never
};

class LocalStepper {
 public:
  explicit LocalStepper(const Job& job);

  // `moved` is written from now on, and outlives the last step.
  void begin(const Piece& piece, std::span<const float> parameters, std::span<float> moved);
  // `gradient` is summed over so many positions; this step is the next one of the piece.
  void step(std::span<const float> gradient, double weight, std::uint64_t pass, std::uint64_t step);
  [[nodiscard]] std::span<const float> parameters() const { return local_.span(); }

 private:
  void step_range(const Range& range, std::span<const float> gradient, double scale, double rate);
  void mean_range(const Range& range, std::span<const float> sum, double samples);
  void ema_range(const Range& range, std::span<const float> sum, double samples);

  const Layout layout_;
  const nn::Optimizer optimizer_;
  const nn::Schedule schedule_;
  const std::uint64_t samples_;
  const double clip_norm_;
  const bool equal_weights_;
  FloatBuffer local_;  // empty in a job without local steps; so is the next
  FloatBuffer kept_;   // momentum; of an ema range, w

  // Of the piece at hand.
  std::span<float> moved_;
  Piece piece_;
  LocalSteps steps_;  // as `local` of the piece, with the steps that it has
  double weight_ = 0, unit_ = 0;
  double walked_ = 1, repeated_ = 1;  // a, and H / tau
  bool first_ = true;
};

}  // namespace steelyard
