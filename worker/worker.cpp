#include "worker/worker.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "protocol/limits.h"
#include "protocol/machine.h"
#include "protocol/terms.h"
#include "worker/version_buffer.h"

namespace steelyard {
namespace {

constexpr Duration last_version_timeout = std::chrono::seconds(10);
constexpr Duration last_step_timeout = std::chrono::seconds(60);  // of the program, with its pull
constexpr Duration acknowledgement_timeout = std::chrono::seconds(1);

}  // namespace

void Worker::step(Time now, const Envelope& in, Outbox& out) {
  const auto* message = std::get_if<ToWorker>(&in.message);
  if (message == nullptr || finished()) return ignore();
  if (in.from == scheduler_node) session_.heard(now);
  std::visit([&](const auto& it) { handle(now, in.from, it, out); }, *message);
}

void Worker::wake(Time now, Outbox& out) {
  if (finished()) return;
  if (session_.due(now)) {
    if (session_.joined()) {
      const bool late = next_.begun && timeout_.over(now);
      for (const ShardPlace& shard : shards_) {
        if (late && !next_.whole(shard)) reach_.doubt(shard.node);
      }
      ping(out);
      beat(out);
      if (own_steps_) own_steps_->wake(now, shards_, out);
      if (late) {
        timeout_.asked_again(now);
        push_awaited(out);
        pull(std::nullopt, out);
      }
    } else {
      out.send<ToScheduler>(scheduler_node, options_.hello);
    }
  }
  if (stop_ && !finished() && now >= patience_) leave(out);
  if (session_.given_up(now)) exit_reason_.out_of_reach();
}

void Worker::beat(Outbox& out) {
  WorkerBeat beat{term_, {}, reach_.roster(), reach_.awaited(), progress_, left_, reading_, end_};
  for (const HeldPiece& piece : pieces_) {
    if (piece.stage != Stage::done) beat.held.push_back(piece.id());
  }
  out.send<ToScheduler>(scheduler_node, std::move(beat));
}

HeldPiece* Worker::find(PieceId id) {
  const auto place = std::ranges::lower_bound(pieces_, id, {}, &HeldPiece::id);
  return place != pieces_.end() && place->id() == id ? &*place : nullptr;
}

// ---- joining

// A worker without a model sends an empty description: then the scheduler asks another worker.
void Worker::handle(Time, NodeId, const AskModel&, Outbox& out) {
  if (session_.joined()) return ignore();
  if (!model_ && options_.model) model_ = options_.model();
  out.send<ToScheduler>(scheduler_node, model_ ? model_->description : ModelDescription{});
}

void Worker::handle(Time, NodeId, const AskWeights& ask, Outbox& out) {
  if (session_.joined() || !model_ || !ask.floats.valid() ||
      ask.floats.end > model_->description.layout.size()) {
    return ignore();
  }
  out.send<ToScheduler>(scheduler_node, Weights{ask.floats, model_->weights(ask.seed, ask.floats)});
}

void Worker::handle(Time now, NodeId, const Welcome& welcome, Outbox&) {
  if (session_.joined()) return ignore();
  model_.reset();  // no longer needed
  prepare(welcome);
  job_ = welcome.job;
  rule_ = pull_rule(job_.sync, rounds_with_barrier(job_));
  term_ = welcome.term;
  slices_ = slices(job_.layout);
  pool_.emplace(job_.layout.size());
  if (nn::steps_on_workers(job_.optimizer)) own_steps_.emplace(term_, options_.state_file);
  const auto is_own = [&](const WorkerCurve& it) { return it.name == options_.hello.name; };
  if (job_.profile && std::ranges::none_of(job_.curves, is_own)) {
    const std::uint64_t own = options_.hello.max_batch > 0 ? options_.hello.max_batch : UINT64_MAX;
    profiler_.emplace(job_.grain, std::min({own, job_.global_batch, job_.train_samples}));
  }
  session_.welcomed(now, from_seconds(job_.heartbeat), from_seconds(job_.heartbeat_timeout));
}

void Worker::handle(Time now, NodeId, const Roster& roster, Outbox& out) {
  if (!session_.joined() || roster.number < reach_.roster()) return ignore();
  if (roster.shards.empty()) return;  // not all shards have joined yet
  if (!covers(roster, slices_.size())) return ignore();
  if (reach_.adopt(roster)) {
    const std::vector<ShardPlace> former = shards_;
    adopt(roster, shards_, out);
    mirrors_.try_all(shards_, out);
    ping(out);
    repeat_to_newcomers(former, out);
  } else if (reach_.ready()) {
    get_ready(now, out);  // the first Ready was lost, or is still to come
  }
}

// A mirror that replaces a lost shard has everything that the shard had sent, and perhaps more.
void Worker::repeat_to_newcomers(const std::vector<ShardPlace>& former, Outbox& out) {
  for (const ShardPlace& shard : shards_) {
    if (former.empty() || std::ranges::find(former, shard.node, &ShardPlace::node) != former.end()) continue;
    for (const HeldPiece& piece : pieces_) push_again(piece, shard.node, out);
    if (next_.begun) pull(shard.node, out);
  }
}

void Worker::ping(Outbox& out) {
  for (const NodeId shard : reach_.awaited()) out.send<ToShard>(shard, Ping{term_});
}

void Worker::handle(Time now, NodeId from, const Pong& pong, Outbox& out) {
  if (pong.term != term_) return ignore();
  answered(now, from, out);
  mirrors_.answered(from, out);
}

void Worker::answered(Time now, NodeId shard, Outbox& out) {
  if (reach_.answered(shard)) get_ready(now, out);
}

// ---- a round

void Worker::handle(Time now, NodeId, const Start& start, Outbox& out) {
  const Piece& piece = start.piece;
  const bool ends = stop_ || end_ == EndRequest::now;
  if (ends || start.term != term_ || shards_.empty() || !piece.positions.valid() || piece.positions.empty())
    return ignore();
  const auto place = std::ranges::lower_bound(pieces_, piece.id, {}, &HeldPiece::id);
  if (place != pieces_.end() && place->id() == piece.id) {
    if (!place->report) return ignore();
    return out.send<ToScheduler>(scheduler_node, *place->report);  // the report was lost
  }
  if (is_over(piece.round) || pieces_.size() >= limits::pieces) return ignore();  // the round is over
  drop_trial(out);
  pieces_.insert(place, new_piece(start));
  compute_next(out);
  choose_next(now, out);
  if (find(piece.id)->stage != Stage::waiting) return;
  if (next_.begun && rule_->version_for(start) <= next_.version) timeout_.can_come(now);
  if (next_.begun && rule_->repeats_for(start, view())) pull(std::nullopt, out);
  out.send<ToCompute>(compute_node, Compute{piece});
}

void Worker::choose_next(Time now, Outbox& out) {
  std::optional<PullRule::Wanted> wanted;
  if (!own_steps_) {
    wanted = rule_->next(view());
  } else if (const std::optional<Version> next = own_steps_->follows()) {
    wanted = PullRule::Wanted(*next);
  }
  if (wanted && !rule_->serves(*wanted, view())) begin_pull(now, *wanted, out);
}

void Worker::begin_pull(Time now, const PullRule::Wanted& wanted, Outbox& out) {
  next_.begin(wanted.version, slices_.size(), wanted.hub);
  next_.ticket = ++last_ticket_;
  timeout_.asked(now);
  pull(std::nullopt, out);
}

// Pulls from all shards with missing slices, or from one.
void Worker::pull(std::optional<NodeId> from, Outbox& out) {
  const bool has_before = current_.begun && current_.version + 1 == next_.version;
  const bool difference = job_.pull_encoding != FloatCode::float32 && has_before;
  const Pull message{term_, next_.version, next_.ticket, rule_->own(view()), difference, next_.hub};
  for (const ShardPlace& shard : shards_) {
    if (from && shard.node != *from) continue;
    if (next_.whole(shard)) continue;
    arrived_[shard.node] = 0;
    out.send<ToShard>(shard.node, message);
  }
}

// Twice per window, so that the connection is never idle; not if all slices have arrived.
void Worker::acknowledge(NodeId shard, Outbox& out) {
  const std::uint32_t arrived = ++arrived_[shard];
  if (arrived % (pull_window(job_) / 2) != 0) return;
  const auto place = std::ranges::find(shards_, shard, &ShardPlace::node);
  if (place == shards_.end() || next_.whole(*place)) return;
  out.send<ToShard>(shard, PullAck{term_, next_.ticket, arrived});
}

void Worker::handle(Time now, NodeId from, const Parameters& parameters, Outbox& out) {
  if (parameters.term != term_) return ignore();
  answered(now, from, out);
  if (!next_.begun || !rule_->answers(parameters, next_)) return ignore();  // answers another pull
  const bool is_new = next_.take(
      parameters.difference ? added(job_, slices_, parameters, current_) : parameters, slices_, *pool_);
  acknowledge(from, out);
  if (!is_new) return ignore();
  ++progress_;
  timeout_.came(now);
  if (next_.missing > 0) return;
  timeout_.whole(now);
  const bool was_ready = !own_steps_ || own_steps_->has_state();
  turn_over(out);
  if (stop_ && (!own_steps_ || !stop_->has_last)) return leave(out);
  compute_next(out);
  choose_next(now, out);
  if (!was_ready) get_ready(now, out);
}

// Reuses the memory of a dropped piece's pushes for the next piece.
template <class Past>
void Worker::forget(Past past) {
  for (HeldPiece& piece : pieces_) {
    if (!past(piece) || piece.pushes.capacity() <= spare_.capacity()) continue;
    spare_ = std::move(piece.pushes);
    spare_.clear();
  }
  std::erase_if(pieces_, past);
}

// Its gradient is complete, so Computed follows at once. Without that report, the scheduler would wait for
// this worker and then count the round without it.
bool Worker::is_pushed_whole(const HeldPiece& piece) const { return piece.pushes.size() == slices_.size(); }

void Worker::turn_over(Outbox& out) {
  std::swap(current_, next_);
  next_.drop();
  current_.version = current_.lowest;
  if (own_steps_) own_steps_->arrived(current_.version, current_.values(slices_), out);
  forget([&](const HeldPiece& piece) {
    return rule_->acknowledges(piece, current_) && !(piece.id() == computing_ && is_pushed_whole(piece));
  });
  if (computing_ && find(*computing_) == nullptr) {
    out.send<ToCompute>(compute_node, Abandon{current_.version});
    computing_.reset();
  }
}

// The version is superseded; its gradients are no longer needed.
void Worker::handle(Time now, NodeId, const VersionExpired& gone, Outbox& out) {
  if (stop_ && !own_steps_) return leave(out);
  if (!next_.begun || gone.wanted != next_.version) return ignore();
  forget([&](const HeldPiece& piece) { return piece.round() <= gone.wanted; });
  next_.drop();
  if (own_steps_) return lose_state(now, out);
  choose_next(now, out);  // a piece of a later round may be waiting
}

void Worker::heed(Time now, OwnSteps::Change change, Outbox& out) {
  using Change = OwnSteps::Change;
  ++progress_;
  if (change == Change::loads) {
    next_.drop();
    choose_next(now, out);
  } else if (change == Change::lost) {
    lose_state(now, out);
  } else if (change == Change::ready) {
    if (!current_.begun) current_.stand_for(*own_steps_->follows() - 1);
    get_ready(now, out);
  } else if (stop_ && stop_->has_last && own_steps_->has_taken(stop_->last)) {
    leave(out);
  }
}

// The scheduler gives its pieces to others. At the end, it loads the state uploaded for the last checkpoint.
void Worker::lose_state(Time now, Outbox& out) {
  own_steps_->expired(out);
  forget([](const HeldPiece&) { return true; });
  current_.drop();
  next_.drop();
  computing_.reset();
  out.send<ToCompute>(compute_node, Abandon{std::numeric_limits<Round>::max()});
  if (stop_) return heed(now, own_steps_->handle(now, LoadState{term_, 0, stop_->last}, shards_, out), out);
  get_ready(now, out);
}

void Worker::compute_next(Outbox& out) {
  if (computing_ || !current_.begun) return;
  HeldPiece* next = nullptr;
  for (HeldPiece& piece : pieces_) {
    if (piece.stage != Stage::waiting || !rule_->suits(piece.start, current_)) continue;
    if (next == nullptr || piece.round() < next->round()) next = &piece;
  }
  if (next == nullptr) return;
  next->stage = Stage::computing;
  computing_ = next->id();
  current_.spent = current_.spent || next->purpose() == Purpose::train;
  if (current_.spent && rule_->outdated_by_training()) next_.drop();
  Blob values = current_.values(slices_);
  if (values.empty()) values = trial_parameters(job_.layout);  // a version that was loaded as state
  out.send<ToCompute>(compute_node, Compute{next->start.piece, std::move(values)});
}

// Only the compute node knows whether it is too late. The piece ends where CutTried says; no gradient was
// pushed before that.
void Worker::handle(Time, NodeId, const Cut& cut, Outbox& out) {
  const HeldPiece* piece = find(cut.piece_id);
  if (cut.term != term_ || piece == nullptr || piece->stage == Stage::waiting) return ignore();
  if (piece->report) return out.send<ToScheduler>(scheduler_node, *piece->report);
  if (cut.end == piece->positions().end)  // the answer was lost
    return out.send<ToScheduler>(scheduler_node, CutAnswer{term_, cut.piece_id, cut.end, cut.end});
  if (cut.end <= piece->positions().begin || cut.end > piece->positions().end) return ignore();
  out.send<ToCompute>(compute_node, cut);
}

void Worker::handle(Time, NodeId, const CutTried& tried, Outbox& out) {
  HeldPiece* piece = find(tried.piece_id);
  if (piece == nullptr) return ignore();  // the piece was dropped
  piece->start.piece.positions.end = tried.end;
  out.send<ToScheduler>(scheduler_node, CutAnswer{term_, tried.piece_id, tried.asked, tried.end});
}

void Worker::handle(Time, NodeId, const GradientReady& final, Outbox& out) {
  HeldPiece* piece = find(final.piece_id);
  if (piece == nullptr || final.slice >= slices_.size()) return ignore();
  ++progress_;
  const double own = final.weight > 0 ? final.weight : static_cast<double>(piece->positions().size());
  const double weight = job_.sync.equal_weights ? 1.0 : own;
  piece->pushes.push_back({term_, piece->start.piece, weight, final.slice,
                           as_pushed(job_, slices_[final.slice], piece->start.piece, final.values),
                           rule_->steps(current_, final.slice)});
  out.send<ToShard>(holder_of(final.slice, shards_), piece->pushes.back());
}

void Worker::handle(Time now, NodeId, const Computed& computed, Outbox& out) {
  ++progress_;
  if (std::exchange(measuring_, false)) {
    profiler_->took(computed.report.seconds);
    return get_ready(now, out);
  }
  if (trial_ && trial_->id == computed.report.piece.id) {
    trial_.reset();
    Report report = computed.report;
    report.term = term_;
    return out.send<ToScheduler>(scheduler_node, std::move(report));
  }
  if (computing_ == computed.report.piece.id) computing_.reset();
  if (HeldPiece* piece = find(computed.report.piece.id)) {
    piece->stage = Stage::done;
    piece->report = computed.report;
    piece->report->term = term_;
    out.send<ToScheduler>(scheduler_node, *piece->report);
    recent_.add(*piece->report);
    reading_ = piece->report->now;
    reading_due_ = true;
    // An evaluation pushes nothing: if its report is lost, it can be computed again. A version that came
    // while this piece was being computed contains its pushes.
    if (piece->purpose() == Purpose::evaluate || is_over(piece->round()))
      pieces_.erase(pieces_.begin() + (piece - pieces_.data()));
  } else {
    ignore();  // the piece was dropped
  }
  compute_next(out);
  choose_next(now, out);
}

// The next round is not planned yet if this worker owes nothing. Later readings go with heartbeats.
void Worker::handle(Time, NodeId, const MachineReading& now, Outbox& out) {
  reading_ = now;
  const bool owes = std::ranges::any_of(pieces_, [](const HeldPiece& it) { return it.stage != Stage::done; });
  if (!owes && std::exchange(reading_due_, false)) beat(out);
}

void Worker::handle(Time, NodeId, const Resend& again, Outbox& out) {
  if (again.term != term_) return ignore();
  bool meant = false;
  for (const HeldPiece& piece : pieces_) {
    if (piece.round() == again.round && piece.positions() == again.positions) {
      meant = true;
      push_again(piece, std::nullopt, out);
    }
  }
  if (!meant) ignore();
}

void Worker::push_again(const HeldPiece& piece, std::optional<NodeId> shard, Outbox& out) {
  for (const Push& push : piece.pushes) {
    const NodeId place = holder_of(push.slice, shards_);
    if (!shard || place == *shard) out.send<ToShard>(place, push);
  }
}

// Resends pushes that shards need before they can answer the pull, and that a full socket may have lost. No
// other node requests them: the scheduler does not look for pieces of reported rounds behind the oldest one.
void Worker::push_awaited(Outbox& out) {
  for (const Contribution& own : rule_->own(view())) {
    for (const HeldPiece& piece : pieces_) {
      if (piece.round() != own.round || !piece.positions().contains(own.positions)) continue;
      for (const Push& push : piece.pushes) {
        if (!next_.arrived[push.slice]) out.send<ToShard>(holder_of(push.slice, shards_), push);
      }
    }
  }
}

// ---- at all times

// A worker that needs the last version pulls it first, if it does not have it.
void Worker::handle(Time now, NodeId, const Stop& stop, Outbox& out) {
  if (stop_ && (stop_->has_last || !stop.has_last)) return ignore();  // repeated
  stop_ = stop;
  patience_ = now + (own_steps_ ? last_step_timeout : last_version_timeout);
  out.send<ToCompute>(compute_node, Abandon{std::numeric_limits<Round>::max()});
  const bool here = current_.can_be_kept(stop.last) && current_.version == stop.last &&
                    !job_.sync.on_arrival && (!own_steps_ || own_steps_->has_taken(stop.last));
  if (!options_.last || !stop.has_last || shards_.empty() || here) return leave(out);
  pieces_.clear();
  computing_.reset();
  if (own_steps_) return own_steps_->has_state() ? choose_next(now, out) : lose_state(now, out);
  if (!next_.begun || next_.version != stop.last || next_.hub != whole_model) begin_pull(now, stop.last, out);
}

void Worker::leave(Outbox& out, const std::string& failure) {
  if (options_.last && stop_->has_last && current_.can_be_kept(stop_->last))
    options_.last(current_.values(slices_));
  if (own_steps_ && stop_->has_last && !own_steps_->has_taken(stop_->last))
    stop_ = Stop{Outcome::interrupted, "the job has ended, but this worker lacks its last step"};
  exit_reason_.stopped(*stop_);
  if (session_.joined()) out.send<ToScheduler>(scheduler_node, Goodbye{failure});
}

// Messages to that node may be lost: resends them. The ledger drops pushes that had arrived, and the
// scheduler drops reports it knows. The scheduler has declared this worker disconnected; any message from it
// corrects that.
void Worker::handle(Time now, NodeId, const Disconnected& lost, Outbox& out) {
  if (lost.node == scheduler_node && session_.joined()) {
    recent_.repeat(pieces_, out);
    return beat(out);
  }
  if (lost.node.role != Role::shard) return;
  for (const HeldPiece& piece : pieces_) push_again(piece, lost.node, out);
  if (own_steps_) own_steps_->restart();
  if (!next_.begun) return;
  timeout_.can_come(now);
  pull(lost.node, out);
}

// The scheduler reports the shard to users, and assigns this worker's pieces to others. The link retries.
void Worker::handle(Time, NodeId, const Unreachable& it, Outbox& out) {
  if (std::ranges::find(shards_, it.node, &ShardPlace::node) == shards_.end()) return ignore();
  reach_.doubt(it.node);
  beat(out);
}

// No other worker recomputes reported pieces, so this one exits only after they are acknowledged: a push in
// flight would be lost with the process.
void Worker::handle(Time now, NodeId, const Interrupt& interrupt, Outbox& out) {
  if (stop_) return;  // leaving already
  drop_open_pieces(out);
  stop_ = Stop{Outcome::interrupted, "asked to leave"};
  if (!interrupt.failure.empty() || pieces_.empty()) return leave(out, interrupt.failure);
  patience_ = now + acknowledgement_timeout;
  choose_next(now, out);
}

void Worker::drop_open_pieces(Outbox& out) {
  out.send<ToCompute>(compute_node, Abandon{std::numeric_limits<Round>::max()});
  forget([](const HeldPiece& piece) { return piece.stage != Stage::done; });
  computing_.reset();
  trial_.reset();
}

// The heartbeat is sent before the report of the current piece, so the request arrives within this round.
void Worker::handle(Time, NodeId, const EndRequested& requested, Outbox& out) {
  if (stop_ || requested.end <= end_) return;
  end_ = requested.end;
  if (end_ == EndRequest::now) drop_open_pieces(out);
  if (session_.joined()) beat(out);
}

static_assert(Machine<Worker>);

}  // namespace steelyard
