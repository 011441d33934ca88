#include "sim/run_results.h"

#include "core/text.h"

namespace steelyard::sim {

RunResults::RunResults(const Job& job, const Batches& batches, std::size_t workers,
                       const std::vector<std::size_t>& worker_in, bool trained)
    : job_(job), batches_(batches), workers_(workers), worker_in_(worker_in), trained_(trained) {}

void RunResults::told(const ToRecorder& message) {
  if (const auto* note = std::get_if<Note>(&message)) notes_.push_back(note->text);
  if (const auto* ended = std::get_if<Ended>(&message)) ended_ = *ended;
  const auto* done = std::get_if<RoundRecord>(&message);
  if (done == nullptr) return;
  if (done->purpose == Purpose::train) return record(*done);
  if (trained_) {
    const std::uint64_t epochs = rounds_.empty() ? 0 : rounds_.back().epoch + 1;
    evaluations_.push_back({done->round, trained_s_, done->accuracy, done->loss, tally_.updates, epochs});
  }
}

void RunResults::record(const RoundRecord& done) {
  trained_s_ += done.seconds;
  RoundResult round{done.round, done.epoch, {}, {}, done.seconds * 1000, 0, done.loss};
  round.samples = done.samples();
  round.shares.resize(workers_);
  round.compute_ms.resize(workers_);
  tally_.batches += done.passes * batches_.in(done.positions.size() - done.skipped);
  tally_.updates += job_.sync.on_arrival ? done.parts.size() : 1;
  std::vector<double> times;
  times.reserve(done.parts.size());
  for (const RoundRecord::Part& part : done.parts) {
    const std::size_t worker = worker_in_.at(part.slot);
    round.shares[worker] += part.share;
    round.compute_ms[worker] += part.seconds * 1000;
    times.push_back(part.seconds);
  }
  for (const RoundRecord::Part& trial : done.trials) {
    round.trial_ms.resize(workers_);
    round.trial_ms[worker_in_.at(trial.slot)] = trial.seconds * 1000;
  }
  round.se = relative_spread(times);
  rounds_.push_back(std::move(round));
}

}  // namespace steelyard::sim
