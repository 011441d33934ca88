#include "worker/compute/piece_steps.h"

namespace steelyard {

PieceSteps::PieceSteps(Engine& engine, LocalStepper& stepper, BufferPool& pool, const Piece& piece,
                       std::span<const float> parameters)
    : engine_(engine), stepper_(stepper), moved_(pool.take()), trainer_(engine.local_trainer()) {
  if (trainer_ != nullptr && !trainer_->begin(parameters, moved_->span())) trainer_ = nullptr;
  if (trainer_ != nullptr) {
    stepper.begin(piece);
  } else {
    gradient_ = pool.take();
    stepper.begin(piece, parameters, moved_->span());
  }
}

PieceSteps::~PieceSteps() {
  if (trainer_ != nullptr) trainer_->end();
}

nn::Sums PieceSteps::train(Samples& samples) {
  if (trainer_ != nullptr) return trainer_->train(samples);
  return engine_.train(stepper_.parameters(), samples, gradient_->span(),
                       [](std::uint64_t, std::uint64_t) {});
}

void PieceSteps::step(double weight, std::uint64_t pass, std::uint64_t step) {
  if (trainer_ == nullptr) return stepper_.step(gradient_->span(), weight, pass, step);
  const double squares = stepper_.clips() ? trainer_->sum_of_squares(stepper_.stepped()) : 0;
  const LocalStepper::Numbers next = stepper_.numbers(squares, weight, pass, step);
  trainer_->step(next.ranges, next.first);
}

const std::shared_ptr<FloatBuffer>& PieceSteps::finish() {
  if (trainer_ != nullptr) trainer_->finish(moved_->span(), [](std::uint64_t, std::uint64_t) {});
  return moved_;
}

}  // namespace steelyard
