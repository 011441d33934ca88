#include "sim/batches.h"

#include <algorithm>

#include "protocol/local_steps.h"

namespace steelyard::sim {

Batches::Batches(const Job& job, const Devices& devices, std::uint64_t all)
    : mode_(job.sync),
      batch_(job.global_batch),
      grain_(job.grain),
      samples_(job.train_samples),
      epochs_(job.epochs),
      all_(all),
      devices_(devices) {}

std::uint64_t Batches::in(std::uint64_t positions) const { return (positions + batch_ - 1) / batch_; }

Round Batches::at(std::uint64_t epoch, Interval positions) const {
  return epoch * in(samples_) + positions.begin / batch_;
}

// Rounds never span epochs, except a round that spans the whole job.
Batches::Range Batches::of(Round round) const {
  const std::uint64_t in_an_epoch = in(samples_), last = all_ - 1;
  if (mode_.span == SyncMode::Span::job) return {0, epochs_ * in_an_epoch};
  if (mode_.span == SyncMode::Span::epoch) return {std::min(round * in_an_epoch, last), in_an_epoch};
  const std::uint64_t each = std::min(mode_.batches(), in_an_epoch);
  const std::uint64_t rounds = (in_an_epoch + each - 1) / each, before = round % rounds * each;
  const Round first = round / rounds * in_an_epoch + before;
  return {std::min(first, last), std::min(each, in_an_epoch - before)};
}

// A round without local steps is one batch, unless its length is chosen.
Round Batches::first_of(const Compute& order) const {
  if (mode_.lookahead == 0) return order.piece.round;
  return std::min(at(order.piece.epoch, order.piece.positions), all_ - 1);
}

Round Batches::last_of(const Compute& order) const {
  if (order.piece.local.steps == 0) return first_of(order);
  const Round end =
      at(order.piece.epoch, order.piece.whole) + order.piece.local.passes * order.piece.local.steps;
  return std::min<Round>(end, all_) - 1;
}

// Each local step takes the time of its own batch.
double Batches::drawn_ms(std::size_t worker, const Compute& order, double at_s) const {
  if (order.piece.local.steps == 0)
    return devices_.drawn_ms(worker, first_of(order), order.piece.positions.size(), at_s);
  double ms = 0;
  const LocalSteps& local = order.piece.local;
  const std::uint64_t steps = steps_of(local, order.piece.positions.size());
  for (std::uint64_t step = 0; step < local.passes * steps; ++step) {
    const std::uint64_t size = part_of(order.piece.positions, step % steps, local, grain_).size();
    const std::uint64_t ahead = mode_.balanced ? step * local.steps / steps : step;  // batches of the round
    const Round batch = std::min(at(order.piece.epoch, order.piece.whole) + ahead, all_ - 1);
    if (size > 0) ms += devices_.drawn_ms(worker, batch, size, at_s + ms / 1000);
  }
  return ms;
}

// A share is processed once per epoch. All its steps count as equally long, by less than a grain too long, so
// that the curve does not fall.
double Batches::true_ms(std::size_t worker, Round round, std::uint64_t share, double at_s,
                        std::uint64_t workers) const {
  const Range batches = of(round);
  if (mode_.balanced) return balanced_ms(worker, batches, share, at_s, workers);
  const std::uint64_t steps = mode_.span == SyncMode::Span::job ? in(samples_) : batches.count;
  const std::uint64_t in_a_step = (grains_in(share, grain_) + steps - 1) / steps * grain_;
  double ms = 0;
  for (std::uint64_t i = 0; i < batches.count; ++i)
    ms += devices_.true_ms(worker, std::min(batches.first + i, all_ - 1), in_a_step, at_s + ms / 1000);
  return ms;
}

// As many steps as the share holds, each as long as the average step of the round.
double Batches::balanced_ms(std::size_t worker, Range batches, std::uint64_t share, double at_s,
                            std::uint64_t workers) const {
  const std::uint64_t size = balanced_batch(batches.count * batch_, batches.count, workers, grain_);
  const double steps = static_cast<double>(share) / static_cast<double>(size),
               of_each = steps / static_cast<double>(batches.count);
  double ms = 0;
  for (std::uint64_t i = 0; i < batches.count; ++i) {
    const Round batch = std::min(batches.first + i, all_ - 1);
    ms += of_each * devices_.true_ms(worker, batch, size, at_s + ms / 1000);
  }
  return ms;
}

}  // namespace steelyard::sim
