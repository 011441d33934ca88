#include "server/shard/shard.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "protocol/local_steps.h"
#include "protocol/terms.h"
#include "server/shard/slice_memory.h"

namespace steelyard {
void Shard::step(Time now, const Envelope& in, Outbox& out) {
  const auto* message = std::get_if<ToShard>(&in.message);
  if (message == nullptr || finished()) return ignore();
  if (in.from == scheduler_node) session_.heard(now);
  std::visit(Overloaded{[&]<OfReplica Said>(const Said&) { ignore(); },
                        [&](const auto& it) { handle(now, in.from, it, out); }},
             *message);
}

void Shard::wake(Time now, Outbox& out) {
  if (finished()) return;
  if (session_.due(now)) {
    told_added_ = counts_.added;
    beat(out);
    if (!session_.joined()) out.send<ToScheduler>(scheduler_node, options_.hello);
  }
  if (loading_ && checkpointer_) want(now, false, out);
  if (session_.given_up(now)) exit_reason_.out_of_reach();
}

Version Shard::version() const {
  Version lowest = UINT64_MAX;
  for (const SliceMemory& slice : slices_) lowest = std::min(lowest, slice.version());
  return slices_.empty() ? opened_ : lowest;  // without slices, every known round is done
}

bool Shard::loaded() const {
  return session_.joined() && std::ranges::all_of(slices_, [](const SliceMemory& s) { return s.loaded(); });
}

// Whether slices and open rounds are its whole state, so that another shard can be loaded from them.
bool Shard::at_rest() const {
  const auto untouched = [](const SliceMemory& slice) { return slice.untouched(); };
  return loaded() && !loading_ && held_.empty() && reported_covered_.empty() && !saved_->keeps_any() &&
         !norms_.knows_any() && std::ranges::all_of(slices_, untouched) && rule_->is_in_slices(slices_) &&
         std::ranges::all_of(slices_, [&](const SliceMemory& s) { return s.version() == version(); });
}

std::optional<std::vector<Envelope>> Shard::snapshot() const {
  if (!at_rest()) return std::nullopt;
  std::vector<Envelope> messages;
  const auto add = [&](NodeId from, auto message) {
    messages.push_back({from, options_.self, Message(std::in_place_type<ToShard>, std::move(message))});
  };
  for (const SliceMemory& slice : slices_) {
    const auto load = [&](std::uint32_t slot, Blob values, bool before) {
      add(options_.self,
          StateChunk{term_, slice.version(), number(slice), slot, slice.steps(), std::move(values), before});
    };
    if (slice.previous()) load(0, coded_.told_before(number(slice) - first_, slice), true);
    for (std::uint32_t slot = 0; slot < slice.slots(); ++slot) load(slot, slice.copy_of(slot), false);
  }
  for (const auto& [round, open] : open_) add(scheduler_node, open);
  for (PutState& put : worker_states_.kept()) add(options_.self, std::move(put));
  return messages;
}

std::optional<IdleTick> Shard::due_quiet(Time now) const {
  const auto gathers = [](const SliceMemory& slice) { return slice.gathered() > 0; };
  if (!session_.joined() || now < session_.deadline() || job_.sync.waits() ||
      std::ranges::none_of(slices_, gathers))
    return std::nullopt;
  return IdleTick{told_added_ == counts_.added};
}

SliceMemory* Shard::find(std::uint32_t slice) {
  return slice >= first_ && slice - first_ < slices_.size() ? &slices_[slice - first_] : nullptr;
}

void Shard::beat(Outbox& out) {
  if (!session_.joined()) return;
  ShardBeat beat{term_, version(), opened_, loaded(), {}, false, counts_.added, 0, 0, mirror_};
  for (const SliceMemory& slice : slices_) beat.parts += slice.loaded_slots();
  beat.parts_in_all = slices_.size() * slots();
  if (!open_.empty()) {
    const BeginRound& oldest = open_.begin()->second;
    beat.covered = reported_covered_.contains(oldest.round);
    beat.gaps = first_gaps(oldest, slices_);
  }
  out.send<ToScheduler>(scheduler_node, std::move(beat));
}

// ---- joining

void Shard::handle(Time now, NodeId, const Welcome& welcome, Outbox& out) {
  if (session_.joined()) return ignore();
  job_ = welcome.job;
  rule_ = close_rule(job_);
  term_ = welcome.term;
  const std::vector<Slice> all = steelyard::slices(job_.layout);
  const auto borders = shard_borders(job_.layout, job_.shards);
  CHECK(welcome.slot < job_.shards, "the scheduler gives out no more slots than the job has shards");
  first_ = borders[welcome.slot];
  const std::span own = std::span(all).subspan(first_, borders[welcome.slot + 1] - first_);
  for (const Slice& slice : own) {
    slices_.emplace_back(slice, job_.layout.ranges[slice.range], state_slots(job_),
                         job_.sum_order == SumOrder::positions,
                         arithmetic_of(slice, {own.front().begin, own.back().end}));
  }
  norms_ = NormLimit(job_.gradient_limit, slices_.size());
  std::uint64_t bytes = 0;
  for (const SliceMemory& slice : slices_) bytes += slice.place().size() * sizeof(float);
  held_ = HeldPushes(bytes, job_.sync.backup > 0);
  coded_ = CodedSlices(job_, slices_);
  saved_.emplace(slots());
  if (!slices_.empty()) loading_.emplace(slices_.size() * slots(), transfer_window);
  session_.welcomed(now, from_seconds(job_.heartbeat), from_seconds(job_.heartbeat_timeout));
  beat(out);
}

std::shared_ptr<nn::SliceArithmetic> Shard::arithmetic_of(const Slice& place, Interval own) const {
  if (options_.arithmetic) return options_.arithmetic(place, own);
  return std::make_shared<nn::HostArithmetic>(place, options_.versions, job_.layout.size(), own.size());
}

void Shard::handle(Time, NodeId, const Refuse& refuse, Outbox&) {
  if (session_.joined()) return ignore();
  exit_reason_.refused(refuse);
}

void Shard::handle(Time now, NodeId from, const StateOffer& offer, Outbox& out) {
  if (!session_.joined() || offer.term != term_) return ignore();
  checkpointer_ = from;
  want(now, true, out);
}

// Requests the next parts of the initial state. `answer`: sends a StateRequest even without parts.
void Shard::want(Time now, bool answer, Outbox& out) {
  StateRequest want{term_, {}, loaded()};
  if (loading_) want.parts = parts_of(loading_->ask(now), first_, slots());
  if (answer || !want.parts.empty()) out.send<ToCheckpointer>(*checkpointer_, std::move(want));
}

void Shard::handle(Time now, NodeId from, const StateChunk& load, Outbox& out) {
  SliceMemory* slice = find(load.slice);
  if (load.term != term_ || slice == nullptr || !loading_) return ignore();
  if (from.role == Role::checkpointer) checkpointer_ = from;  // not from a primary
  if (load.before) return slice->load_previous(load.values) ? void() : malformed();
  if (!slice->load(load.slot, load.version, load.steps, load.values)) return malformed();
  loading_->came(now, std::size_t{load.slice - first_} * slots() + load.slot);
  if (loading_->complete()) {
    loading_.reset();
    opened_ = version();
    coded_.begin(slices_);
    rule_->begin(slices_);
    beat(out);
    for (auto& [worker, pull] : pulls_) answer(worker, pull, out);
  }
  if (checkpointer_) want(now, loaded(), out);
}

void Shard::handle(Time, NodeId from, const Ping& ping, Outbox& out) {
  if (ping.term != term_ || from.role != Role::worker) return ignore();
  out.send<ToWorker>(from, Pong{term_});
}

// ---- a round

void Shard::handle(Time, NodeId, const BeginRound& open, Outbox& out) {
  if (open.term != term_ || !loaded() || (open.round != opened_ && !slices_.empty()) ||
      open_.size() > most_open_rounds || open.local.passes == 0 ||
      open.local.steps > most_steps_in_round / open.local.passes || !cover_holes(open, slices_)) {
    return ignore();
  }
  open_.emplace(open.round, open);
  opened_ = open.round + 1;
  if (slices_.empty()) return close_empty(open, out);
  for (const HeldPushes::Held& it : held_.take()) handle(Time{}, it.from, it.push, out);
}

// A small model may have fewer slices than the job has shards. With a clip barrier, such a
// shard is not asked.
void Shard::close_empty(const BeginRound& open, Outbox& out) {
  open_.erase(open.round);
  out.send<ToScheduler>(scheduler_node, Closed{term_, version(), {}});
}

void Shard::handle(Time, NodeId from, const Pull& pull, Outbox& out) {
  if (pull.term != term_ || pull.hub > job_.sync.hubs.count) return ignore();
  WaitingPull& waiting = pulls_[from] = {pull, {}};
  for (std::uint32_t i = 0; i < slices_.size(); ++i) waiting.slices.push_back(first_ + i);
  if (!loaded()) return;
  answer(from, waiting, out);
  end_waits(out);
}

// If every worker waits for a slice in which pushes wait, no other push can come: the slice steps.
void Shard::end_waits(Outbox& out) {
  for (SliceMemory& slice : slices_) {
    const auto waits_here = [&](NodeId worker) {
      const auto found = pulls_.find(worker);
      return found != pulls_.end() && std::ranges::count(found->second.slices, number(slice)) > 0;
    };
    if (slice.waiting().empty() || !rule_->all_workers(waits_here)) continue;
    rule_->settle(open_.rbegin()->second, slice);
    close_covered(slice, out);
    answer_waiting(slice, out);
  }
}

void Shard::handle(Time, NodeId from, const PullAck& ack, Outbox& out) {
  const auto found = pulls_.find(from);
  if (ack.term != term_ || found == pulls_.end() || ack.ticket != found->second.pull.ticket) return ignore();
  WaitingPull& waiting = found->second;
  waiting.arrived = std::clamp(ack.arrived, waiting.arrived, std::max(waiting.arrived, waiting.sent));
  if (loaded()) answer(from, waiting, out);
}

// Answers the pulls that this slice can now answer.
void Shard::answer_waiting(const SliceMemory& slice, Outbox& out) {
  const std::uint32_t its = number(slice);
  for (auto& [worker, waiting] : pulls_) {
    const auto found = std::ranges::find(waiting.slices, its);
    if (found != waiting.slices.end() && answer(worker, waiting, slice, out)) waiting.slices.erase(found);
  }
}

void Shard::answer(NodeId worker, WaitingPull& waiting, Outbox& out) {
  std::erase_if(waiting.slices,
                [&](std::uint32_t wanted) { return answer(worker, waiting, *find(wanted), out); });
}

// Returns false if the pull must wait for the slice to close, or for acknowledgements of slices sent before.
bool Shard::answer(NodeId worker, WaitingPull& waiting, const SliceMemory& slice, Outbox& out) const {
  const Pull& pull = waiting.pull;
  const bool current = rule_->has(pull, slice);
  if (!current && rule_->will_have(pull, slice)) return false;
  if (!current && (slice.version() > pull.version + 1 || !slice.previous())) {
    out.send<ToWorker>(worker, VersionExpired{pull.version, slice.version()});
    return true;
  }
  if (waiting.sent - waiting.arrived >= pull_window(job_)) return false;
  ++waiting.sent;
  if (current) rule_->answered(worker, slice);
  const Version version = current ? slice.version() : pull.version;
  Parameters told{term_,         version,
                  number(slice), rule_->told(pull, slice, current),
                  pull.ticket,   current ? slice.steps() : 0};
  coded_.put_into(told, told.slice - first_, pull, current);
  out.send<ToWorker>(worker, std::move(told));
  return true;
}

bool Shard::sound(const Push& push) {
  const SliceMemory* slice = find(push.slice);
  return push.term == term_ && loaded() && slice != nullptr &&
         coded_.fits(push.slice - first_, push.values, slice->place().size()) &&
         push.piece.positions.valid() && !push.piece.positions.empty() && std::isfinite(push.weight) &&
         push.weight > 0;
}

void Shard::handle(Time, NodeId from, const Push& push, Outbox& out) {
  if (!sound(push)) return malformed();
  SliceMemory* slice = find(push.slice);
  if (push.piece.round < slice->version()) return repeated();
  const auto open = open_.find(push.piece.round);
  if (open == open_.end()) return hold(from, push);
  const Interval& round = open->second.positions;
  const std::optional<Push> plain = coded_.decoded(push.slice - first_, push, slice->place().size());
  if (!plain || !rule_->takes(push, *slice) || !round.contains(push.piece.positions) ||
      !on_grains(round, push.piece.positions, job_.grain))
    return malformed();
  const auto squares = [&] { return slice->squares_of(plain->values); };
  const bool finite = slice->all_finite(plain->values);
  if (const auto excess = norms_.refused(push.slice - first_, finite, squares, push.weight)) {
    ++counts_.refused;
    return out.send<ToScheduler>(scheduler_node,
                                 GradientRejected{term_, push.piece, push.slice, from, *excess});
  }
  if (rule_->add(from, *plain, open->second, *slice)) {
    ++counts_.added;
    counts_.uncompensated = rule_->uncompensated();
  } else {
    repeated();
    if (!slice->waits(push.piece.round, push.piece.positions)) return;
    rule_->settle(open->second, *slice);
  }
  close_covered(*slice, out);
  if (rule_->answers_each_push()) answer_waiting(*slice, out);
}

// Closes every covered round of the slice, together with its norm group.
void Shard::close_covered(SliceMemory& slice, Outbox& out, bool quiet) {
  const auto is_in = [&](const auto& it) { return slice.covers(it.first, it.second.positions); };
  if (slice.gathered() > 0 && (quiet ? is_in(*open_.begin()) : std::ranges::all_of(open_, is_in)))
    rule_->settle(open_.rbegin()->second, slice);
  while (!slice.owes_a_step()) {
    const auto oldest = open_.find(slice.version());
    if (oldest == open_.end()) return;
    const BeginRound open = oldest->second;  // closed() erases it when the last slice is done
    const auto is_covered = [&](const SliceMemory& it) { return it.coverage().count() >= open.quorum; };
    if (!is_covered(slice)) return;
    if (open.clip_barrier) return covered(open, out);
    const std::span<SliceMemory> together = closing_with(slice, slices_);
    if (!std::ranges::all_of(together, is_covered)) return;
    close(together, open, 1.0, out);
  }
}

void Shard::handle(Time, NodeId, const IdleTick& quiet, Outbox& out) {
  for (SliceMemory& slice : slices_) {
    if (slice.gathered() > 0) close_covered(slice, out, quiet.nothing_added);
  }
}

void Shard::hold(NodeId from, const Push& push) {
  const bool near = push.piece.round >= opened_ && push.piece.round - opened_ <= job_.sync.slack;
  ++(near && held_.add(from, push) ? counts_.held : counts_.malformed);
}

void Shard::covered(const BeginRound& open, Outbox& out) {
  const bool all = std::ranges::all_of(slices_, [&](const SliceMemory& slice) {
    return slice.version() > open.round || slice.coverage().count() >= open.quorum;
  });
  if (!all) return;
  reported_covered_.insert(open.round);
  report_covered(open, out);
}

void Shard::report_covered(const BeginRound& open, Outbox& out) {
  Covered message{term_, open.round, first_, {}};
  for (SliceMemory& slice : slices_) message.squares.push_back(slice.sum_of_squares());
  out.send<ToScheduler>(scheduler_node, std::move(message));
}

void Shard::handle(Time, NodeId, const Commit& commit, Outbox& out) {
  const auto open = open_.find(commit.round);
  if (commit.term != term_ || open == open_.end() || !reported_covered_.contains(commit.round))
    return ignore();
  const BeginRound round = open->second;  // close() erases it when the last slice is done
  reported_covered_.erase(commit.round);
  for (SliceMemory& slice : slices_) {
    if (slice.version() == round.round) close(closing_with(slice, slices_), round, commit.scale, out);
  }
}

std::uint32_t Shard::number(const SliceMemory& slice) const {
  return static_cast<std::uint32_t>(first_ + (&slice - slices_.data()));
}

void Shard::close(std::span<SliceMemory> slices, const BeginRound& open, double scale, Outbox& out) {
  rule_->close(slices, open, scale);
  for (SliceMemory& slice : slices) {
    coded_.advance(number(slice) - first_, slice);
    answer_waiting(slice, out);
    closed(slice, open, out);
  }
}

// Called when the slice has the version that this round makes.
void Shard::closed(SliceMemory& slice, const BeginRound& open, Outbox& out) {
  const std::uint32_t its = number(slice);
  const Round round = open.round;
  if (open.save) saved_->keep(slice, its);
  if (saved_->gathered() == slice.version()) {
    for (const StatePart& part : saved_->take_awaited(its)) send_part(part, out);
  }
  if (version() > round) {
    open_.erase(round);
    out.send<ToScheduler>(scheduler_node, Closed{term_, version(), rule_->staleness()});
  }
}

// ---- a checkpoint

void Shard::handle(Time, NodeId from, const Fetch& fetch, Outbox& out) {
  if (!saved_) return ignore();
  checkpointer_ = from;
  saved_->gather(fetch.version);
  bool later = false;
  for (const StatePart& part : fetch.parts) {
    if (find(part.slice) == nullptr || part.slot >= slots()) {
      ignore();
    } else {
      later |= !send_part(part, out);
    }
  }
  if (later) out.send<ToCheckpointer>(*checkpointer_, NotYet{fetch.version});
}

// Returns false if the part is not available yet.
bool Shard::send_part(StatePart part, Outbox& out) {
  SavedVersions::Part found = saved_->part(part, *find(part.slice), state_slots(job_) > 0);
  if (auto* state = std::get_if<State>(&found)) {
    out.send<ToCheckpointer>(*checkpointer_, std::move(*state));
  } else if (const auto* gone = std::get_if<VersionExpired>(&found)) {
    out.send<ToCheckpointer>(*checkpointer_, *gone);
  } else {
    return false;
  }
  return true;
}

void Shard::handle(Time, NodeId, const Saved& saved, Outbox&) {
  if (saved_) saved_->forget(saved.version);
}

void Shard::handle(Time, NodeId from, const PutState& put, Outbox& out) {
  if (put.term != term_ || !session_.joined()) return ignore();
  if (!worker_states_.put(from, put, out)) malformed();
}

void Shard::handle(Time, NodeId from, const GetState& get, Outbox& out) {
  if (get.term != term_ || !session_.joined()) return ignore();
  worker_states_.get(from, get, out);
}

// ---- at all times

void Shard::handle(Time, NodeId, const SchedulerBeat&, Outbox& out) {
  // With a clip barrier, this makes up for a lost Covered or Commit.
  const auto oldest = open_.begin();
  if (oldest != open_.end() && reported_covered_.contains(oldest->first)) report_covered(oldest->second, out);
}

void Shard::handle(Time, NodeId, const Stop& stop, Outbox& out) {
  exit_reason_.stopped(stop);
  out.send<ToScheduler>(scheduler_node, Goodbye{});
}

// A scheduler that returns, perhaps as another process, gets a heartbeat at once and can resend messages.
void Shard::handle(Time now, NodeId from, const Disconnected& lost, Outbox& out) {
  const bool to_scheduler = lost.node == scheduler_node && session_.joined();
  if (to_scheduler) beat(out);
  if (to_scheduler) handle(now, from, SchedulerBeat{term_}, out);
  pulls_.erase(lost.node);
  worker_states_.forget(lost.node);
  if (rule_) rule_->gone(lost.node);
  for (SliceMemory& slice : slices_) {
    if (slice.waiting().empty()) continue;
    rule_->step_if_due(open_.rbegin()->second, slice);
    close_covered(slice, out);
    answer_waiting(slice, out);
  }
  if (loaded()) end_waits(out);
  if (lost.node == checkpointer_ && loading_) loading_->restart();
}

void Shard::handle(Time, NodeId from, const VersionMismatch& version_mismatch, Outbox&) {
  if (from != scheduler_node) return ignore();  // a worker of another version: the scheduler refuses it
  exit_reason_.refused(Refuse{Refusal::other_protocol,
                              "the scheduler uses protocol " + std::to_string(version_mismatch.protocol) +
                                  ", this server another: use the same release everywhere"});
}

void Shard::handle(Time, NodeId, const Interrupt&, Outbox& out) {
  // The scheduler saves the model and ends the job.
  if (session_.joined()) return out.send<ToScheduler>(scheduler_node, Goodbye{});
  exit_reason_.stopped({Outcome::interrupted, {}});
}

static_assert(Machine<Shard>);

}  // namespace steelyard
