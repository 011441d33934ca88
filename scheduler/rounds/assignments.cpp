#include "scheduler/rounds/assignments.h"

#include <algorithm>
#include <cmath>

#include "protocol/local_steps.h"
#include "scheduler/members/liveness.h"

namespace steelyard {
namespace {

constexpr Duration longest_push_timeout = std::chrono::minutes(10);

}  // namespace

Assignments::Assignments(const Job& job, const Progress& from, std::unique_ptr<balancing::Policy> policy,
                         const Members& members, std::list<RoundState>& rounds)
    : term_(from.term),
      mode_(job.sync),
      grain_(job.grain),
      bad_gradient_(job.bad_gradient),
      timeout_(timeout_of(job)),
      planner_(job, from, std::move(policy), members),
      members_(members),
      rounds_(rounds),
      work_stealing_(job, members, planner_) {}

Assignments::Found Assignments::find(PieceId id) {
  for (RoundState& round : rounds_) {
    if (OwedPiece* piece = round.find(id)) return {&round, piece};
  }
  return {};
}

Duration Assignments::push_timeout() const {
  const Duration longest = std::max(longest_wait_, longest_push_);
  return std::max(timeout_, std::min<Duration>(2 * longest, longest_push_timeout));
}

// ---- issuing

Orders Assignments::begin(Time now, RoundState& round) {
  if (round.untaken().empty()) {
    Orders orders;
    if (round.open().skipped.empty()) {
      issue(now, round, {round.open().positions}, orders);
    } else {
      const std::vector<Planner::Share> shares = shares_between_holes(planner_, round, grain_);
      for (const auto& share : shares) give(now, round, {share.positions}, share.slot, orders);
      if (!shares.empty()) return orders;
      for (const Interval& part : between_holes(round.open()))
        round.add(next_piece_++, {part, {}, false, now});
    }
    if (mode_.steals_work && round.purpose() == Purpose::train) work_stealing_.begin(round);
    return orders;
  }
  round.quotas = planner_.quotas(round);
  return hand_out(now);
}

// Divides the positions among the available workers, as the policy decides.
void Assignments::issue(Time now, RoundState& round, const ToDo& what, Orders& orders) {
  const bool balanced = mode_.balanced && round.purpose() == Purpose::train;
  if (balanced && round.batch == 0) round.batch = planner_.batch_for(round);
  const std::vector<Planner::Share> shares = planner_.divide(round, what.positions, what.hub);
  if (shares.empty())
    round.add(next_piece_++, {what.positions, std::nullopt, false, now, false, what.refusals, what.hub});
  if (round.pieces().empty()) round.expect(shares.size());
  orders.reserve(orders.size() + shares.size());
  for (const Planner::Share& it : shares) {
    it.measures ? measure(round, it, orders)
                : give(now, round, {it.positions, what.refusals, it.hub}, it.slot, orders);
  }
}

void Assignments::give(Time now, RoundState& round, const ToDo& what, std::uint32_t slot, Orders& orders) {
  const PieceId id = next_piece_++;
  OwedPiece piece{what.positions, slot, false, now, false, what.refusals, what.hub};
  piece.planned = members_.workers.at(slot).reading;
  round.add(id, std::move(piece));
  orders.emplace_back(assign(round, id));
}

Assign Assignments::assign(const RoundState& round, PieceId id) const {
  const OwedPiece& piece = *round.find(id);
  const BeginRound& open = round.open();
  LocalSteps local = open.local;
  local.batch = round.batch;
  return {*piece.owner,
          {term_,
           {id, open.round, round.purpose(), open.epoch, piece.positions, open.positions, local, piece.hub},
           round.least()}};
}

// ---- issuing again

void Assignments::reissue(Time now, RoundState& round, PieceId id, Orders& orders) {
  const OwedPiece piece = *round.find(id);
  round.remove(id);
  for (const auto part : parts_of(piece)) issue_again(now, round, {part, piece.refusals, piece.hub}, orders);
}

// Some pieces are assigned whole, if one worker can hold them, because cutting would change the result: the
// local steps of the parts differ from those of the whole, two small updates differ from one update, and with
// equal weights two parts would count twice. Other balanced steps have the same weight wherever they are cut,
// and the round ends sooner if the piece is divided among all workers.
void Assignments::issue_again(Time now, RoundState& round, const ToDo& what, Orders& orders) {
  const bool alike = mode_.balanced && !mode_.equal_weights;
  const bool whole = (mode_.is_local() && !alike) || mode_.divide_by_push;
  const auto to = whole ? least_loaded(round, what.positions.size()) : std::nullopt;
  if (to) return give(now, round, what, *to, orders);
  issue(now, round, what, orders);
}

// The worker that owes the fewest pieces, among those that can hold this many positions.
std::optional<std::uint32_t> Assignments::least_loaded(const RoundState& round,
                                                       std::uint64_t positions) const {
  std::optional<std::uint32_t> best;
  std::size_t fewest = SIZE_MAX;
  for (const std::uint32_t slot : members_.working()) {
    if (planner_.most(members_.workers.at(slot), round) < positions) continue;
    std::size_t owed = 0;
    for (const RoundState& each : rounds_) owed += each.owed_by(slot).size();
    if (owed >= fewest) continue;
    fewest = owed;
    best = slot;
  }
  return best;
}

Orders Assignments::release(Time now, std::uint32_t slot) {
  Orders orders;
  for (RoundState& round : rounds_) {
    for (const PieceId id : round.owed_by(slot)) reissue(now, round, id, orders);
  }
  return orders;
}

Orders Assignments::lose(Time now, std::uint32_t slot) {
  for (RoundState& round : rounds_) round.owner_gone(slot);
  trials_.erase(slot);
  return release(now, slot);
}

Orders Assignments::adopt_orphans(Time now) {
  Orders orders;
  for (RoundState& round : rounds_) {
    const std::vector<PieceId> orphans = round.owed_by(std::nullopt);
    if (orphans.empty() || !members_.anybody_works()) continue;
    for (const PieceId id : orphans) reissue(now, round, id, orders);
  }
  return orders;
}

Orders Assignments::repeat_lost(Time now, std::uint32_t slot, const std::vector<PieceId>& held,
                                bool doubtful) {
  Orders orders;
  const Duration timeout = doubtful ? Duration(-1) : timeout_;
  std::vector<PieceId> known = held;  // a correct worker sends them sorted
  std::ranges::sort(known);
  for (RoundState& round : rounds_) {
    for (const PieceId id : round.owed_by(slot)) {
      OwedPiece& piece = *round.find(id);
      if (std::ranges::binary_search(known, id) || now - piece.since <= timeout) continue;
      piece.since = now;
      orders.emplace_back(assign(round, id));
    }
    for (const PieceId id : round.owed_by(slot)) {
      auto& cut = round.find(id)->cut;
      if (!cut || now - cut->since <= timeout) continue;
      cut->since = now;
      orders.emplace_back(Shorten{slot, {term_, id, cut->end}});
    }
  }
  return orders;
}

// Requests a resend from the owner. If that does not help or the owner is lost, the positions are computed
// again. Does nothing while pushes still arrive at the shard: on a slow network the missing one may be queued
// behind them, and a resend would delay it further. A piece of which only a part is missing (a faulty sender)
// is cut at the edge of the gap, moved to the border of its grain, because a push counts as a whole or not at
// all.
Orders Assignments::repair_gap(Time now, RoundState& round, const Interval& gap, const ShardMember& shard) {
  Orders orders;
  const auto late = round.select([&](const OwedPiece& piece) {
    const Duration timeout = piece.owner_gone    ? timeout_
                             : piece.asked_again ? 4 * push_timeout()
                                                 : push_timeout();
    return piece.reported && piece.positions.overlaps(gap) &&
           now - std::max(piece.since, shard.fed) > timeout;
  });
  for (const PieceId id : late) {
    OwedPiece& piece = *round.find(id);
    const Interval lacking{std::max(gap.begin, piece.positions.begin),
                           std::min(gap.end, piece.positions.end)};
    const Interval missing =
        widened_to_grains(round.open().positions, lacking, std::max(grain_, round.batch));
    const auto owner = piece.owner ? members_.workers.find(*piece.owner) : members_.workers.end();
    const bool owner_there =
        owner != members_.workers.end() && owner->second.present && !owner->second.stalled;
    if (missing == piece.positions && owner_there && !piece.asked_again && !piece.owner_gone) {
      piece.asked_again = true;
      piece.since = now;
      orders.emplace_back(AskAgain{*piece.owner, {term_, round.round(), piece.positions}});
      continue;
    }
    const OwedPiece whole = piece;
    round.computed_again = true;
    round.remove(id);
    for (const Interval covered :
         {Interval{whole.positions.begin, missing.begin}, {missing.end, whole.positions.end}}) {
      if (covered.empty()) continue;
      round.add(next_piece_++, {covered, whole.owner, true, now, true, whole.refusals, whole.hub});
    }
    issue_again(now, round, {missing, whole.refusals, whole.hub}, orders);
  }
  return orders;
}

// ---- on demand

bool Assignments::is_idle(std::uint32_t slot) const {
  const auto worker = members_.workers.find(slot);
  return worker != members_.workers.end() && worker->second.working() &&
         std::ranges::none_of(rounds_,
                              [&](const RoundState& round) { return !round.done && round.owes(slot); });
}

bool Assignments::anybody_idle() {
  std::erase_if(maybe_idle_, [&](std::uint32_t slot) { return !is_idle(slot); });
  return !maybe_idle_.empty();
}

// Plans again if a worker joined after the last plan, or if all workers with a quota are gone. Otherwise a
// worker without a quota gets nothing.
Orders Assignments::hand_out(Time now) {
  Orders orders;
  RoundState& round = rounds_.back();
  if (round.untaken().empty() || maybe_idle_.empty()) return orders;
  const std::vector<std::uint32_t> there = members_.working();
  const auto has_quota = [&](std::uint32_t slot) {
    const auto quota = round.quotas.find(slot);
    return quota != round.quotas.end() && quota->second > 0;
  };
  const bool unknown =
      std::ranges::any_of(there, [&](std::uint32_t slot) { return !round.quotas.contains(slot); });
  if (!there.empty() && (unknown || std::ranges::none_of(there, has_quota)))
    round.quotas = planner_.quotas(round);
  for (const std::uint32_t slot : std::vector(maybe_idle_.begin(), maybe_idle_.end())) {
    if (round.untaken().empty()) break;
    if (!is_idle(slot)) {
      maybe_idle_.erase(slot);
    } else if (has_quota(slot)) {
      maybe_idle_.erase(slot);
      const std::uint64_t most = planner_.most(members_.workers.at(slot), round);
      give(now, round, {round.take(round.quotas.at(slot), most)}, slot, orders);
    }
  }
  return orders;
}

// ---- reports

std::optional<Orders> Assignments::report(Time now, const WorkerMember& worker, const Report& report) {
  if (report.piece.id >= first_trial)
    return report_trial(worker, report) ? std::optional(Orders{}) : std::nullopt;
  may_be_idle(worker.slot);
  PieceId id = report.piece.id;
  Found found = find(id);
  Orders orders;
  // The answer to a cut was lost, but the report shows that the piece was cut.
  if (found.piece != nullptr && found.piece->owner == worker.slot && found.piece->cut &&
      report.piece.positions == Interval{found.piece->positions.begin, found.piece->cut->end}) {
    take_over(now, *found.round, id, orders);
    found = find(id);
  }
  const bool late = found.piece == nullptr;
  if (late) found = find(id = accept_late_report(now, worker.slot, report));
  const bool usable = found.piece != nullptr && !found.piece->reported &&
                      report.piece.positions == found.piece->positions && found.piece->owner == worker.slot;
  if (!usable) return std::nullopt;
  // Time that the worker waited for parameters. Unknown if a push was requested again, or if the piece may
  // have been queued behind others of its owner.
  const double waited = std::max(0.0, seconds(now - found.piece->since) - report.seconds);
  const bool unknown =
      late || found.piece->asked_again || found.piece->handed || mode_.slack > 0 || mode_.lookahead > 0;
  if (!found.piece->handed) longest_wait_ = std::max(longest_wait_, from_seconds(waited));
  // The gradient may still be finite: that of a hinge loss is zero at NaN.
  if (!std::isfinite(report.loss)) {
    return compute_elsewhere(
        now, found, id, {worker.slot, "the loss that worker '" + worker.name + "' computed is not finite"});
  }
  const MachineReading planned = found.piece->planned;
  found.round->report(id, report, now);
  if (report.piece.purpose != Purpose::train) return orders;
  if (mode_.steals_work) work_stealing_.observe(worker.slot, report);
  if (!planner_.tells(*found.round, worker.slot)) return orders;
  const auto sample = planner_.sample(worker, report, planned, unknown ? -1 : waited, found.round);
  if (!sample) return orders;
  // Policies compare the workers of one round. If assigned rounds overlap, the policy receives all samples of
  // a round together, when the round is done.
  const bool overlap = mode_.slack > 0 && !mode_.on_demand;
  if (overlap) found.round->unseen.push_back(*sample);
  if (!overlap) planner_.observe(*sample);
  return orders;
}

void Assignments::finish(RoundState& round, const RoundRecord& record) {
  longest_wait_ = longest_wait_ * 3 / 4;
  for (const balancing::Sample& sample : std::exchange(round.unseen, {})) planner_.observe(sample);
  planner_.ended(round, record.seconds, record.accuracy);
}

// Accepts the report of a worker that was declared lost but has finished its piece; its pushes are in flight.
// Workers that now owe parts of that piece need not compute them. Not accepted if its gradient was rejected.
// Returns the piece's new id, or 0.
PieceId Assignments::accept_late_report(Time now, std::uint32_t slot, const Report& report) {
  for (RoundState& round : rounds_) {
    if (round.round() != report.piece.round || round.purpose() != report.piece.purpose) continue;
    const auto parts = round.select([&](const OwedPiece& piece) {
      return !piece.reported && piece.refusals == 0 && piece.hub == report.piece.hub &&
             report.piece.positions.contains(piece.positions);
    });
    std::uint64_t positions = 0;
    for (const PieceId id : parts) positions += round.find(id)->positions.size();
    if (parts.empty() || positions != report.piece.positions.size()) continue;
    for (const PieceId id : parts) {
      if (const auto owner = round.find(id)->owner) may_be_idle(*owner);
      round.remove(id);
    }
    round.add(next_piece_, {report.piece.positions, slot, false, now, false, 0, report.piece.hub});
    return next_piece_++;
  }
  return 0;
}

// ---- handing over

bool Assignments::told(Time now, std::uint32_t slot, const PieceProgress& progress) {
  const Found found = find(progress.piece_id);
  return mode_.steals_work && found.piece != nullptr && found.piece->owner == slot &&
         WorkStealing::told(now, *found.piece, progress);
}

Orders Assignments::steal_work(Time now) {
  Orders orders;
  if (!mode_.steals_work || rounds_.empty()) return orders;
  while (const auto ask = work_stealing_.next(now, rounds_.back())) {
    OwedPiece& piece = *rounds_.back().find(ask->piece);
    piece.cut = ask->cut;
    orders.emplace_back(Shorten{*piece.owner, {term_, ask->piece, ask->cut.end}});
  }
  return orders;
}

std::optional<Orders> Assignments::answer(Time now, std::uint32_t slot, const CutAnswer& answer) {
  const Found found = find(answer.piece_id);
  if (found.piece == nullptr || found.piece->reported || found.piece->owner != slot || !found.piece->cut ||
      found.piece->cut->end != answer.asked)
    return std::nullopt;
  OwedPiece& piece = *found.piece;
  Orders orders;
  if (answer.end == answer.asked) {
    take_over(now, *found.round, answer.piece_id, orders);
  } else if (answer.end == piece.positions.end) {  // too late: the worker is already past the cut
    piece.underway.done = std::max(piece.underway.done, piece.cut->end - piece.positions.begin);
    piece.cut.reset();
  } else {
    return std::nullopt;
  }
  return orders;
}

// The cut came in time: the helper gets the rest; if it is gone, the rest is issued like any other.
void Assignments::take_over(Time now, RoundState& round, PieceId id, Orders& orders) {
  const OwedPiece whole = *round.find(id);
  const Interval rest{whole.cut->end, whole.positions.end};
  round.shorten(id, rest.begin);
  const auto helper = members_.workers.find(whole.cut->helper);
  const bool there = helper != members_.workers.end() && helper->second.working();
  const ToDo what{rest, whole.refusals, whole.hub};
  if (!there) return issue_again(now, round, what, orders);
  give(now, round, what, whole.cut->helper, orders);
  round.find(next_piece_ - 1)->handed = true;
}

}  // namespace steelyard
