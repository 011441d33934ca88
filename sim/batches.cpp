// Rounds and the global batches that they are made of: which ones, and how long they take.
#include <algorithm>

#include "sim/world.h"

namespace steelyard::sim {

std::uint64_t World::batches_in(std::uint64_t positions) const {
  return (positions + scenario_.global_batch - 1) / scenario_.global_batch;
}

Round World::batch_of(std::uint64_t epoch, Interval positions) const {
  return epoch * batches_in(job_.train_samples) + positions.begin / scenario_.global_batch;
}

// As the scheduler cuts them: rounds never span epochs, but for the one of a whole job.
World::Batches World::batches_of(Round round) const {
  const std::uint64_t in_an_epoch = batches_in(job_.train_samples), last = begins_.size() - 1;
  if (mode_.span == SyncMode::Span::job) return {0, job_.epochs * in_an_epoch};
  if (mode_.span == SyncMode::Span::epoch) return {std::min(round * in_an_epoch, last), in_an_epoch};
  const std::uint64_t each = std::min(std::max<std::uint64_t>(1, mode_.local), in_an_epoch);
  const std::uint64_t rounds = (in_an_epoch + each - 1) / each, before = round % rounds * each;
  const Round first = round / rounds * in_an_epoch + before;
  return {std::min(first, last), std::min(each, in_an_epoch - before)};
}

// In which one a computation ends: what a report says of the machine is of that time.
Round World::last_batch(const Compute& order) const {
  if (order.local.steps == 0) return order.round;
  const Round end = batch_of(order.epoch, order.whole) + order.local.passes * order.local.steps;
  return std::min<Round>(end, begins_.size()) - 1;
}

// Each local step takes the time of a batch of its own.
double World::drawn_ms(std::size_t worker, const Compute& order, double at_s) const {
  if (order.local.steps == 0) return devices_.drawn_ms(worker, order.round, order.positions.size(), at_s);
  const std::uint64_t last = begins_.size() - 1;
  double ms = 0;
  for (std::uint64_t step = 0; step < order.local.passes * order.local.steps; ++step) {
    const std::uint64_t size = part_of(order.positions, step % order.local.steps, order.local.steps).size();
    const Round batch = std::min(batch_of(order.epoch, order.whole) + step, last);
    if (size > 0) ms += devices_.drawn_ms(worker, batch, size, at_s + ms / 1000);
  }
  return ms;
}

// What comes between the begin of a round of many batches and its end is in its curve too. A share is
// walked once an epoch; its steps are taken for equally long, by less than a sample too long, so that the
// curve does not fall.
balancing::TrueCurves World::truth() {
  return [this](std::uint32_t slot, std::uint64_t round) -> balancing::Curve {
    const std::size_t worker = worker_in_.at(slot);
    const Batches batches = batches_of(round);
    const bool many = mode_.span == SyncMode::Span::job;
    const std::uint64_t steps = many ? batches_in(job_.train_samples) : batches.count;
    const double exchange_ms = scenario_.network.exchange_ms() * devices_.network(worker, batches.first);
    return [this, worker, batches, steps, exchange_ms, at_s = since_begin()](std::uint64_t share) {
      if (share == 0) return 0.0;
      const std::uint64_t in_a_step = (share + steps - 1) / steps;
      const Round last = begins_.size() - 1;
      double ms = 0;
      for (std::uint64_t i = 0; i < batches.count; ++i) {
        ms += devices_.true_ms(worker, std::min(batches.first + i, last), in_a_step, at_s + ms / 1000);
      }
      return (ms + exchange_ms) / 1000;
    };
  };
}

}  // namespace steelyard::sim
