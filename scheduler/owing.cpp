// Who owes what. Pieces are issued, cut and issued again here, and nowhere else.
#include <algorithm>

#include "core/check.h"
#include "scheduler/scheduler.h"

namespace steelyard {

Scheduler::Found Scheduler::find(PieceId id) {
  for (Work& work : works_) {
    if (Piece* piece = work.find(id)) return {&work, piece};
  }
  return {};
}

balancing::Request Scheduler::request(Interval positions, Round round) const {
  balancing::Request request{round, positions.size(), {}};
  for (const std::uint32_t slot : members_.working()) {
    const WorkerMember& worker = members_.workers.at(slot);
    const std::uint64_t most = worker.most == 0 ? UINT64_MAX : worker.most;
    request.workers.push_back({slot, worker.kind, 1, most, worker.cpu, worker.memory});
  }
  return request;
}

// Divides the positions among the workers that are there, as the policy sees fit. Where their memory does not
// hold all at once, in as many helpings as it takes.
void Scheduler::issue(Time now, Work& work, Interval positions, unsigned refusals, Outbox& out) {
  balancing::Request wanted = request(positions, work.round());
  if (wanted.workers.empty()) {
    work.add(next_piece_++, {positions, std::nullopt, false, now, false, refusals});
    return;
  }
  std::uint64_t capacity = 0;
  for (const auto& worker : wanted.workers) capacity += std::min(worker.most, positions.size());
  for (Position at = positions.begin; at < positions.end;) {
    wanted.positions = std::min(capacity, positions.end - at);
    const std::vector<std::uint64_t> shares = policy_->plan(wanted);
    CHECK(shares.size() == wanted.workers.size(), "a plan has a share for every worker");
    const Position helping = at;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] == 0) continue;
      give(now, work, {at, at + shares[i]}, wanted.workers[i].slot, refusals, out);
      at += shares[i];
    }
    CHECK(at == helping + wanted.positions, "the shares of a plan sum to the round");
  }
}

void Scheduler::give(Time now, Work& work, Interval positions, std::uint32_t slot, unsigned refusals,
                     Outbox& out) {
  const PieceId id = next_piece_++;
  work.add(id, {positions, slot, false, now, false, refusals});
  send_start(work, id, out);
}

void Scheduler::send_start(const Work& work, PieceId id, Outbox& out) {
  const Piece& piece = work.pieces().at(id);
  out.send<ToWorker>(members_.workers.at(*piece.owner).node,
                     Start{term_, work.round(), work.purpose(), work.open().epoch, id, piece.positions});
}

// A piece whose owner is gone, or whose push never arrived: cut among those who are there.
void Scheduler::reissue(Time now, Work& work, PieceId id, Outbox& out) {
  const Piece piece = *work.find(id);
  work.remove(id);
  issue(now, work, piece.positions, piece.refusals, out);
}

void Scheduler::adopt_orphans(Time now, Outbox& out) {
  for (Work& work : works_) {
    const std::vector<PieceId> orphans = work.owed_by(std::nullopt);
    if (orphans.empty() || members_.working().empty()) continue;
    for (const PieceId id : orphans) reissue(now, work, id, out);
  }
}

// A shard misses these positions although every piece there was reported: ask the owner to push again, and if
// that does not help, have them computed again. A piece of which only a part is missing (a faulty sender's
// doing) is cut at the edge of the gap, for a push counts as a whole or not at all.
void Scheduler::mend(Time now, Work& work, const Interval& gap, Outbox& out) {
  const auto late = work.select([&](const Piece& piece) {
    return piece.reported && piece.positions.overlaps(gap) && now - piece.since > patience();
  });
  for (const PieceId id : late) {
    Piece& piece = *work.find(id);
    const Interval missing{std::max(gap.begin, piece.positions.begin),
                           std::min(gap.end, piece.positions.end)};
    const auto owner = piece.owner ? members_.workers.find(*piece.owner) : members_.workers.end();
    const bool owner_there = owner != members_.workers.end() && owner->second.present;
    if (missing == piece.positions && owner_there && !piece.asked_again) {
      piece.asked_again = true;
      piece.since = now;
      out.send<ToWorker>(owner->second.node, Again{term_, work.round(), piece.positions});
      continue;
    }
    const Piece whole = piece;
    work.remove(id);
    for (const Interval covered :
         {Interval{whole.positions.begin, missing.begin}, {missing.end, whole.positions.end}}) {
      if (!covered.empty()) work.add(next_piece_++, {covered, whole.owner, true, now, true, whole.refusals});
    }
    issue(now, work, missing, whole.refusals, out);
  }
}

void Scheduler::handle(Time now, NodeId from, const NonFinite& refused, Outbox& out) {
  const Found found = find(refused.piece);
  if (members_.shard(from) == nullptr || found.piece == nullptr || refused.term != term_ ||
      phase_ >= Phase::stopping) {
    return;  // issued again already
  }
  const std::string who = members_.worker_name(refused.worker);
  const std::string where = "round " + std::to_string(refused.round) + " (epoch " +
                            std::to_string(found.work->open().epoch) + ", positions " +
                            std::to_string(refused.positions.begin) + " to " +
                            std::to_string(refused.positions.end) + ")";
  if (found.piece->refusals > 0) {
    return end(Outcome::non_finite,
               where + ": the gradient is not finite, also when worker '" + who +
                   "' computed it again; the last checkpoint is kept: lower train.lr, or set "
                   "train.clip_norm, and resume",
               out);
  }
  note(out,
       where + ": worker '" + who + "' sent numbers that are not finite; the piece is computed once more");
  const Piece piece = *found.piece;
  found.work->remove(refused.piece);
  // To the next worker in line, so that one broken machine does not end the job.
  const std::vector<std::uint32_t> there = members_.working();
  const auto next = std::ranges::upper_bound(there, piece.owner.value_or(0));
  if (there.empty()) {
    found.work->add(next_piece_++, {piece.positions, std::nullopt, false, now, false, 1});
  } else {
    give(now, *found.work, piece.positions, next == there.end() ? there.front() : *next, 1, out);
  }
}

}  // namespace steelyard
