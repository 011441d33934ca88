// LocalStepper: the local steps of one piece, and how far they went (wire/local_steps.h).
//
// With n the piece's positions, W its weight, and for each step its summed gradient G over n_s positions, its
// rate r, the optimizer's momentum mu and decay d (where the range asks for it), and the round's unit u:
//
//   g     = W / n_s * c * G + W * d * w_local     (c: clipping; 1 but for gradients that are too long)
//   m     = mu * m + g                            (m = 0 at first: nothing is kept from round to round)
//   s     = m        sgd, momentum                s = g + mu * m   nesterov
//   moved = moved + r / u * s,   w_local = w_local - r / W * s
//
// `moved` is what is pushed. All factors of a single step of plain SGD are exactly 1: it pushes the gradient
// itself, and no bit of it is lost. Belongs to one thread.
#pragma once

#include <span>

#include "core/buffer.h"
#include "wire/job.h"
#include "wire/messages.h"

namespace steelyard {

class LocalStepper {
 public:
  // Throws Failure (configuration) if the job has local steps and a layout that cannot be stepped.
  explicit LocalStepper(const Job& job);

  // `moved` is written from now on, and outlives the last step.
  void begin(const Piece& piece, std::span<const float> parameters, std::span<float> moved);
  // `gradient` is summed over so many positions; this step is the next one of the piece.
  void step(std::span<const float> gradient, std::uint64_t positions, std::uint64_t pass, std::uint64_t step);
  [[nodiscard]] std::span<const float> parameters() const { return local_.span(); }

 private:
  const Layout layout_;
  const nn::Optimizer optimizer_;
  const nn::Schedule schedule_;
  const std::uint64_t samples_;
  const double clip_norm_;
  const bool equal_weights_;
  FloatBuffer local_, momentum_;  // empty in a job without local steps

  // Of the piece at hand.
  std::span<float> moved_;
  Piece piece_;
  double weight_ = 0, unit_ = 0;
  bool first_ = true;
};

}  // namespace steelyard
