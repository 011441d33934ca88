// What a worker computes only to measure its time: its profile before training, and trials during it.
#include <algorithm>
#include <limits>
#include <utility>

#include "worker/worker.h"

namespace steelyard {

// ---- before training

// A trial is a piece of no round: positions from the begin of the data set, in one local step if the job has
// them. Stop and Interrupt abandon it.
void Worker::get_ready(Time now, Outbox& out) {
  if (measuring_ || stop_) return;
  if (own_steps_ && reach_.ready()) {
    choose_next(now, out);
    if (!own_steps_->decided()) return;  // the first version is on its way, or superseded
    ready_.has_state = own_steps_->has_state();
    ready_.loading = own_steps_->loading();
  }
  if (profiler_ && ready_.has_state) {
    if (const std::optional<std::uint64_t> size = profiler_->next(now)) {
      if (trial_parameters_.empty()) trial_parameters_ = trial_parameters(job_.layout);
      Piece piece{.positions = {0, *size}, .whole = {0, *size}};
      if (job_.sync.is_local()) piece.local.steps = 1;
      measuring_ = true;
      return out.send<ToCompute>(compute_node, Compute{piece, trial_parameters_, true});
    }
    ready_.times = profiler_->result().times;
    ready_.most = profiler_->result().most;
    profiler_.reset();
    trial_parameters_ = {};
  }
  if (reach_.ready()) out.send<ToScheduler>(scheduler_node, ready_);
}

void Worker::handle(Time now, NodeId, const TrialTooLarge&, Outbox& out) {
  if (trial_) return drop_trial(out);
  if (!std::exchange(measuring_, false)) return ignore();
  profiler_->did_not_fit();
  get_ready(now, out);
}

// ---- during training

void Worker::handle(Time, NodeId, const TryOut& trial, Outbox& out) {
  const bool busy = computing_ || trial_ || measuring_ || own_steps_ ||
                    std::ranges::any_of(pieces_, [](const HeldPiece& it) { return it.stage != Stage::done; });
  const Interval positions = trial.piece.positions;
  if (trial.term != term_ || busy || stop_ || !session_.joined() || !positions.valid() || positions.empty())
    return ignore();
  trial_ = trial.piece;
  Blob values = current_.begun ? current_.values(slices_) : trial_parameters(job_.layout);
  out.send<ToCompute>(compute_node, Compute{trial.piece, std::move(values), true});
}

// Pieces that others wait for come first.
void Worker::drop_trial(Outbox& out) {
  if (!trial_) return;
  out.send<ToCompute>(compute_node, Abandon{trial_->round + 1});
  trial_.reset();
}

}  // namespace steelyard
