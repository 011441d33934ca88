#include "balancing/cost/forgetting_line.h"

namespace steelyard::balancing {
namespace {

// Sizes whose relative variance is below this are one size: the slope would be made of rounding.
constexpr double one_size = 1e-6;

}  // namespace

void ForgettingLine::add(TimedBatch batch) {
  weight_ = lambda_ * weight_ + 1;
  b_ = lambda_ * b_ + batch.samples;
  t_ = lambda_ * t_ + batch.seconds;
  bb_ = lambda_ * bb_ + batch.samples * batch.samples;
  bt_ = lambda_ * bt_ + batch.samples * batch.seconds;
}

Affine ForgettingLine::curve() const {
  if (empty()) return {};
  const Affine through_origin{0, bt_ / bb_};
  const double variance = weight_ * bb_ - b_ * b_;
  if (variance < one_size * b_ * b_) return through_origin;
  const double slope = (weight_ * bt_ - b_ * t_) / variance;
  const double fixed = (t_ - slope * b_) / weight_;
  return slope > 0 && fixed >= 0 ? Affine{fixed, slope} : through_origin;
}

void ForgettingLine::save(StateWriter& writer) const {
  writer.real(weight_).real(b_).real(t_).real(bb_).real(bt_);
}

void ForgettingLine::restore(StateReader& reader) {
  for (double* sum : {&weight_, &b_, &t_, &bb_, &bt_}) *sum = reader.real();
  reader.require(weight_ >= 0 && bb_ >= 0, "a sum of squares is negative");
}

}  // namespace steelyard::balancing
