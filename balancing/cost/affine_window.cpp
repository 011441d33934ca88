#include "balancing/cost/affine_window.h"

#include <array>
#include <cmath>
#include <span>

namespace steelyard::balancing {

bool AffineWindow::add(TimedBatch batch) {
  const bool possible =
      batch.samples > 0 && batch.seconds > 0 && std::isfinite(batch.samples + batch.seconds);
  if (!possible) return false;
  batches_.push_back(batch);
  if (batches_.size() > capacity) batches_.pop_front();
  refit();
  if (changed()) {
    // The old speed says nothing about the new one. The fit starts again from the newest batches alone.
    batches_.erase(batches_.begin(), batches_.end() - changed_after);
    refit();
  }
  return true;
}

void AffineWindow::refit() {
  std::array<TimedBatch, capacity> flat;
  std::copy(batches_.begin(), batches_.end(), flat.begin());
  curve_ = fit_affine(std::span(flat).first(batches_.size()));
}

bool AffineWindow::changed() const {
  if (batches_.size() <= changed_after) return false;
  // The curve already includes these batches: what a straight line can explain, such as a new batch size, it
  // has explained by now, and does not count as a change.
  std::size_t above = 0, below = 0;
  for (auto batch = batches_.end() - changed_after; batch != batches_.end(); ++batch) {
    const double ratio = batch->seconds / curve_(batch->samples);
    above += ratio > 1 + change;
    below += ratio < 1 / (1 + change);
  }
  return above == changed_after || below == changed_after;
}

}  // namespace steelyard::balancing
