// LocalStepper: computes the local steps of one piece and the distance moved (protocol/local_steps.h).
//
// Let n be the piece's positions, W its weight, u the round's unit, mu and d the optimizer's momentum and
// decay, and f the range's factor on the rate and on d (one each, Range in include/steelyard/parameters.h).
// For each step, G is the gradient summed over n_s positions, and r its rate:
//
//   g     = W / n_s * c * G + W * d * w_local     (c: clipping; 1 unless the gradient is too long)
//   m     = mu * m + g                            (initially 0: not kept from round to round)
//   s     = m        sgd, momentum                s = g + mu * m   nesterov
//   moved = moved + a * r / u * s,   w_local = w_local - r / W * s
//
// `moved` is pushed. a is 1 or, if steps are balanced and weights not equal, a(H) / a(tau): the walks of the
// round's H and the piece's tau steps (protocol/local_steps.h). In a single step of plain SGD all factors are
// exactly 1, so the pushed values equal the gradient, bit for bit.
//
// Ranges with other rules (w: the parameters at the beginning; G: what the model left there):
//
//   mean   moved = moved + H / tau * W / n_s * G         w_local = w_local + 1 / n_s * G
//   ema    moved = W / n_s * G + keep * (moved - W * w)  w_local = keep * w + (1 - keep) / W * moved
//          (the first step: moved = W / n_s * G)
//
// with H / tau = 1, except for balanced steps with weights by positions, which add up as in plain SGD. In
// ema, w_local is the running average after the piece's steps alone, and the server's rule for ema turns the
// pushes into the weighted average of all w_local; after one step, this is the result of bsp.
//
// Belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.h"
#include "core/interval.h"
#include "core/lasting_memory.h"
#include "core/layout.h"
#include "nn/optimizer/local_step.h"
#include "protocol/job.h"
#include "protocol/messages.h"

namespace steelyard {

// FinalSlices: finds the slices that become final as ranges of a gradient become final.
//
// A range may cover parts of slices; ranges come in any order, but each float only once in a piece.
class FinalSlices {
 public:
  explicit FinalSlices(const std::vector<Slice>& slices) : slices_(slices) {}

  // Starts a piece: nothing is final.
  void begin();
  // Floats [begin, end) are final. Returns the slices that became final, the last one first; but those of the
  // last range belong to the rest. They are posted with the report, which follows at once: the link then
  // wakes once.
  std::vector<std::uint32_t> take(std::uint64_t begin, std::uint64_t end);
  // All floats are final. Returns the slices not returned before, the last one first.
  std::vector<std::uint32_t> take_rest();

 private:
  const std::vector<Slice>& slices_;  // in order, without gaps
  std::vector<std::uint64_t> open_;   // floats that may still change, by slice
  std::uint64_t open_in_all_ = 0;
};

// StepFunction: a level that changes over time, written as
//
//   "4"                     always
//   "2, 6@10, 2@20"         2 at first, 6 from second 10, 2 again from second 20
//   "2, 6@10, again@20"     the same, repeated every 20 seconds
class StepFunction {
 public:
  explicit StepFunction(double level) : steps_{{0, level}} {}
  // Returns std::nullopt for invalid syntax, for a level outside [least, most], or if times do not increase.
  static std::optional<StepFunction> read(std::string_view text, double least, double most);

  [[nodiscard]] double at(double time_s) const;  // 0 or later
  [[nodiscard]] bool is_always(double level) const;

 private:
  struct Step {
    double from_s, level;
  };
  std::vector<Step> steps_;  // at least one, the first from 0 on
  double period_s_ = 0;      // after which time restarts at 0; 0: never
};

class LocalStepper {
 public:
  explicit LocalStepper(const Job& job);

  // Starts a piece. Steps write to `moved`, which must outlive the last one.
  void begin(const Piece& piece, std::span<const float> parameters, std::span<float> moved);
  // Makes the piece's next step. `gradient` is the sum over positions with this total weight.
  void step(std::span<const float> gradient, double weight, std::uint64_t pass, std::uint64_t step);
  [[nodiscard]] std::span<const float> parameters() const { return buffers_->local.span(); }

  [[nodiscard]] bool clips() const { return clip_norm_ > 0; }  // gradients of steps
  // The ranges whose norm is limited then.
  [[nodiscard]] std::span<const Interval> stepped() const { return stepped_; }

  // For steps that are made elsewhere, on a device: starts a piece, and returns the numbers of its next step.
  void begin(const Piece& piece);
  struct Numbers {
    std::span<const nn::LocalRange> ranges;  // valid until the next call
    bool first = false;                      // step of the piece
  };
  // `squares`: sum_of_squares_in() of the gradient and stepped(), which is read if clips().
  Numbers numbers(double squares, double weight, std::uint64_t pass, std::uint64_t step);

 private:
  [[nodiscard]] nn::LocalRange step_of(const Range& range, double scale, double rate) const;
  [[nodiscard]] nn::LocalRange mean(const Range& range, double samples) const;
  [[nodiscard]] nn::LocalRange ema(const Range& range, double samples) const;

  const Layout layout_;
  const std::vector<Interval> stepped_;
  const nn::Optimizer optimizer_;
  const nn::Schedule schedule_;
  const std::uint64_t samples_;
  const double clip_norm_;
  const bool equal_weights_;
  struct Buffers {
    explicit Buffers(std::size_t size) : local(size), kept(size) {}
    FloatBuffer local;
    FloatBuffer kept;  // momentum; for an ema range, w
    LastingMemory lasting{local.data(), local.size() * sizeof(float), true};
  };
  std::optional<Buffers> buffers_;  // since the first step that is made here
  std::vector<nn::LocalRange> ranges_;

  // State of the current piece.
  std::span<float> moved_;
  Piece piece_;
  LocalSteps steps_;  // `local` of the piece, with its number of steps
  double weight_ = 0, unit_ = 0;
  double walked_ = 1, repeated_ = 1;  // a, and H / tau
  bool first_ = true;
};

}  // namespace steelyard
