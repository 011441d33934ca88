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

// What a worker can take of this work in one piece. Its memory has to hold one local step at a time.
std::uint64_t Scheduler::capacity(const WorkerMember& worker, const Work& work) {
  const std::uint64_t steps = std::max<std::uint64_t>(1, work.open().local.steps);
  return worker.most == 0 || worker.most > UINT64_MAX / steps ? UINT64_MAX : worker.most * steps;
}

balancing::Request Scheduler::request(Interval positions, const Work& work) const {
  balancing::Request request{work.round(), positions.size(), {}, work.open().epoch + 1};
  if (const auto& local = work.open().local; local.steps > 0) request.walk = {local.passes, local.steps};
  request.workers.reserve(members_.workers.size());
  for (const auto& [slot, worker] : members_.workers) {
    if (!worker.working()) continue;
    const std::uint64_t most = capacity(worker, work);
    request.workers.push_back({slot, worker.kind, 1, most, worker.cpu, worker.memory, true, worker.name});
  }
  return request;
}

// Divides the positions among the workers that are there, as the policy sees fit. Where their memory does not
// hold all at once, in as many helpings as it takes.
void Scheduler::issue(Time now, Work& work, Interval positions, unsigned refusals, Outbox& out) {
  balancing::Request wanted = request(positions, work);
  if (wanted.workers.empty()) {
    work.add(next_piece_++, {positions, std::nullopt, false, now, false, refusals});
    return;
  }
  if (work.pieces().empty()) work.expect(wanted.workers.size());
  std::uint64_t hold = 0;
  for (const auto& worker : wanted.workers) hold += std::min(worker.most, positions.size());
  for (Position at = positions.begin; at < positions.end;) {
    wanted.positions = std::min(hold, positions.end - at);
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
  const Piece& piece = *work.find(id);
  out.send<ToWorker>(members_.workers.at(*piece.owner).node,
                     Start{term_, work.round(), work.purpose(), work.open().epoch, id, piece.positions,
                           work.least(), work.open().positions, work.open().local});
}

// A piece whose owner is gone, or whose push never arrived: cut among those who are there.
void Scheduler::reissue(Time now, Work& work, PieceId id, Outbox& out) {
  const Piece piece = *work.find(id);
  work.remove(id);
  issue_again(now, work, piece.positions, piece.refusals, out);
}

void Scheduler::issue_again(Time now, Work& work, Interval positions, unsigned refusals, Outbox& out) {
  const bool whole = mode_.is_local() || mode_.divide_by_push;
  const auto to = whole ? heir(work, positions.size()) : std::nullopt;
  if (to) {
    give(now, work, positions, *to, refusals, out);
  } else {
    issue(now, work, positions, refusals, out);
  }
}

// Local steps of a piece that is cut are not those of the whole, and a push that is a whole update is not two
// small ones: so such a piece goes to one worker if there is one that can hold it, to who has the fewest to
// do.
std::optional<std::uint32_t> Scheduler::heir(const Work& work, std::uint64_t positions) const {
  std::optional<std::uint32_t> best;
  std::size_t fewest = SIZE_MAX;
  for (const std::uint32_t slot : members_.working()) {
    if (capacity(members_.workers.at(slot), work) < positions) continue;
    std::size_t owed = 0;
    for (const Work& each : works_) owed += each.owed_by(slot).size();
    if (owed >= fewest) continue;
    fewest = owed;
    best = slot;
  }
  return best;
}

// ---- pieces that are taken

bool Scheduler::is_idle(std::uint32_t slot) const {
  const auto worker = members_.workers.find(slot);
  return worker != members_.workers.end() && worker->second.working() &&
         std::ranges::none_of(works_, [&](const Work& work) { return !work.done && work.owes(slot); });
}

// How much each worker takes at a time: its share of the round.
void Scheduler::plan_helpings(Work& work) {
  work.helpings.clear();
  balancing::Request wanted = request(work.open().positions, work);
  if (wanted.workers.empty()) return;
  std::uint64_t hold = 0;
  for (const auto& worker : wanted.workers) hold += std::min(worker.most, wanted.positions);
  wanted.positions = std::min(hold, wanted.positions);
  const std::vector<std::uint64_t> shares = policy_->plan(wanted);
  CHECK(shares.size() == wanted.workers.size(), "a plan has a share for every worker");
  for (std::size_t i = 0; i < shares.size(); ++i) work.helpings[wanted.workers[i].slot] = shares[i];
}

// Whoever has nothing to do takes its next helping. Who came after the plan was made is planned for; who has
// no share rests, unless all who have one are gone.
bool Scheduler::hand_out(Time now, Outbox& out) {
  Work& work = works_.back();
  if (work.untaken().empty() || free_.empty()) return false;
  const std::vector<std::uint32_t> there = members_.working();
  const auto takes_part = [&](std::uint32_t slot) {
    const auto helping = work.helpings.find(slot);
    return helping != work.helpings.end() && helping->second > 0;
  };
  const bool unknown =
      std::ranges::any_of(there, [&](std::uint32_t slot) { return !work.helpings.contains(slot); });
  if (!there.empty() && (unknown || std::ranges::none_of(there, takes_part))) plan_helpings(work);
  bool any = false;
  for (const std::uint32_t slot : std::vector(free_.begin(), free_.end())) {
    if (work.untaken().empty()) break;
    if (!is_idle(slot)) {
      free_.erase(slot);
    } else if (takes_part(slot)) {
      free_.erase(slot);
      const std::uint64_t most = capacity(members_.workers.at(slot), work);
      give(now, work, work.take(work.helpings.at(slot), most), slot, 0, out);
      any = true;
    }
  }
  return any;
}

// Somebody had been given up, and has done its piece all the same; its pushes are on their way. Who owes the
// parts of it now need not do them. Not where its numbers were refused. The piece's new id, or 0.
PieceId Scheduler::take_back(Time now, const WorkerMember& worker, const Report& report) {
  for (Work& work : works_) {
    if (work.round() != report.round || work.purpose() != report.purpose) continue;
    const auto parts = work.select([&](const Piece& piece) {
      return !piece.reported && piece.refusals == 0 && report.positions.contains(piece.positions);
    });
    std::uint64_t positions = 0;
    for (const PieceId id : parts) positions += work.find(id)->positions.size();
    if (parts.empty() || positions != report.positions.size()) continue;
    for (const PieceId id : parts) {
      if (const auto owner = work.find(id)->owner; owner && mode_.slack > 0) free_.insert(*owner);
      work.remove(id);
    }
    work.add(next_piece_, {report.positions, worker.slot, false, now, false, 0});
    return next_piece_++;
  }
  return 0;
}

void Scheduler::adopt_orphans(Time now, Outbox& out) {
  for (Work& work : works_) {
    const std::vector<PieceId> orphans = work.owed_by(std::nullopt);
    if (orphans.empty() || members_.working().empty()) continue;
    for (const PieceId id : orphans) reissue(now, work, id, out);
  }
}

// A shard misses these positions although every piece there was reported: ask the owner to push again, and if
// that does not help, have them computed again. Not while pushes arrive there: on a slow line this one may be
// behind them, and whatever is pushed once more makes it later still. A piece of which only a part is missing
// (a faulty sender's doing) is cut at the edge of the gap, for a push counts as a whole or not at all.
void Scheduler::mend(Time now, Work& work, const Interval& gap, const ShardMember& shard, Outbox& out) {
  const auto late = work.select([&](const Piece& piece) {
    const Duration timeout = piece.asked_again ? 4 * push_timeout() : push_timeout();
    return piece.reported && piece.positions.overlaps(gap) &&
           now - std::max(piece.since, shard.fed) > timeout;
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
      out.send<ToWorker>(owner->second.node, Resend{term_, work.round(), piece.positions});
      continue;
    }
    const Piece whole = piece;
    work.remove(id);
    for (const Interval covered :
         {Interval{whole.positions.begin, missing.begin}, {missing.end, whole.positions.end}}) {
      if (!covered.empty()) work.add(next_piece_++, {covered, whole.owner, true, now, true, whole.refusals});
    }
    issue_again(now, work, missing, whole.refusals, out);
  }
}

void Scheduler::handle(Time now, NodeId from, const NonFinite& refused, Outbox& out) {
  const Found found = find(refused.piece);
  if (members_.shard(from) == nullptr || found.piece == nullptr || refused.term != term_ ||
      phase_ >= Phase::stopping) {
    return ignore();  // issued again already
  }
  compute_elsewhere(now, found, refused.piece,
                    "the gradient that worker '" + members_.worker_name(refused.worker) + "' computed", out);
}

// It may be the machine: the piece goes to the next worker in line, so that a broken one does not end the
// job. If there it comes out the same, it is the training.
void Scheduler::compute_elsewhere(Time now, const Found& found, PieceId id, const std::string& what,
                                  Outbox& out) {
  const Piece piece = *found.piece;
  const std::string place = where(*found.work, piece.positions);
  if (piece.refusals > 0) {
    const std::string again = place + ": " + what + " is not finite, and was not when another one did; ";
    return end(Outcome::non_finite, again + spoilt(), out);
  }
  note(out, place + ": " + what + " is not finite; the piece is computed once more");
  found.work->remove(id);
  if (mode_.slack > 0 && piece.owner) free_.insert(*piece.owner);
  const std::vector<std::uint32_t> there = members_.working();
  const auto next = std::ranges::upper_bound(there, piece.owner.value_or(0));
  if (there.empty()) {
    found.work->add(next_piece_++, {piece.positions, std::nullopt, false, now, false, 1});
  } else {
    give(now, *found.work, piece.positions, next == there.end() ? there.front() : *next, 1, out);
  }
}

}  // namespace steelyard
