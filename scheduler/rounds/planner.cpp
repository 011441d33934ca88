#include "scheduler/rounds/planner.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "balancing/allocate/elastic_barrier.h"
#include "balancing/allocate/largest_remainder.h"
#include "balancing/allocate/split.h"
#include "balancing/pacing.h"
#include "core/check.h"
#include "core/random.h"
#include "protocol/local_steps.h"
#include "scheduler/rounds/epoch_cursor.h"

namespace steelyard {
namespace {

// A share that lacks more than this part of whole grains gives no sample for the policy.
constexpr double little_missing = 1.0 / 16;

// Positions that all workers together can take at a time, at most those of the request.
std::uint64_t capacity(const balancing::Request& request) {
  std::uint64_t sum = 0;
  for (const auto& worker : request.workers) sum += std::min(worker.most, request.positions);
  return std::min(sum, request.positions);
}

bool is_plan(const std::vector<std::uint64_t>& shares, const balancing::Request& request) {
  if (shares.size() != request.workers.size()) return false;
  std::uint64_t left = request.positions;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] > std::min(left, request.workers[i].most)) return false;
    left -= shares[i];
  }
  return left == 0;
}

std::vector<std::uint64_t> equal_shares(const balancing::Request& request) {
  const std::vector<double> alike(request.workers.size(), 1.0);
  return balancing::largest_remainder(alike, request.positions, balancing::share_bounds(request));
}

}  // namespace

Planner::Planner(const Job& job, const Progress& from, std::unique_ptr<balancing::Policy> policy,
                 const Members& members)
    : name_(job.policy),
      grain_(job.grain),
      seed_(job.seed),
      global_batch_(job.global_batch),
      hubs_(job.sync.hubs),
      paced_(job.sync.paced),
      grain_by_grain_(job.sum_order == SumOrder::positions && job.grain > 1 && job.sync == SyncMode{}),
      measures_beside_(job.sync == SyncMode{} && !nn::steps_on_workers(job.optimizer)),
      policy_(std::move(policy)),
      members_(members),
      lookahead_(job.sync.lookahead) {
  CHECK(!paced_ || policy_->pacing() != nullptr,
        "the policy of a job with paced rounds decides their length");
  if (!from.policy_state.empty()) policy_->restore(from.policy_state);
}

std::vector<Planner::Share> Planner::divide(const RoundState& round, Interval positions, HubNumber hub) {
  balancing::Request wanted = request(round, positions);
  if (wanted.workers.empty()) return {};
  if (round.batch > 0) return divide_in_batches(round, positions, wanted, hub);
  if (!pieces_.empty() && round.purpose() == Purpose::train) return elastic_shares(positions);
  std::vector<Share> shares;
  shares.reserve(wanted.workers.size());
  const std::uint64_t hold = capacity(wanted);
  for (Position at = positions.begin; at < positions.end;) {
    wanted.positions = std::min(hold, grains_in(positions.end - at, grain_));
    std::vector<std::uint64_t> grains = plan(wanted);
    const Position begin = at;
    const std::vector<std::size_t> measured = moved_trials(wanted, beside(round), grains);
    for (std::size_t i = 0; i < grains.size(); ++i) {
      if (grains[i] == 0) continue;
      const Position end = at + std::min(grains[i] * grain_, positions.end - at);
      shares.push_back({wanted.workers[i].slot, {at, end}});
      at = end;
    }
    if (begin > positions.begin) continue;  // a trial is enough
    for (const std::size_t i : measured)
      shares.push_back({wanted.workers[i].slot, {begin, begin + grain_}, whole_model, true});
  }
  return by_grain(round, std::move(shares));
}

// Slots of workers to measure beside this round, as the last plan wants it.
std::vector<std::uint32_t> Planner::beside(const RoundState& round) {
  if (!measures_beside_ || round.purpose() != Purpose::train) return {};
  return asked([&] { return policy_->beside_round(); }).value_or(std::vector<std::uint32_t>());
}

std::uint64_t Planner::elastic_length(Round round, std::uint64_t epoch) {
  const RoundState batch({.round = round, .epoch = epoch, .positions = {0, global_batch_}}, Purpose::train,
                         {});
  std::vector<std::pair<std::uint32_t, std::uint64_t>> shares;
  std::vector<double> seconds;
  for (const auto& [slot, quota] : quotas(batch)) {
    if (quota == 0) continue;
    shares.emplace_back(slot, quota);
    seconds.push_back(grain_seconds_[slot] * static_cast<double>(quota / grain_));
  }
  const std::vector<std::uint64_t> counts = balancing::pieces_before_barrier(seconds, lookahead_);
  std::vector<std::pair<double, std::size_t>> ends;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (std::uint64_t turn = 1; turn <= counts[i]; ++turn)
      ends.emplace_back(static_cast<double>(turn) * seconds[i], i);
  }
  std::ranges::stable_sort(ends);
  std::uint64_t length = 0;
  pieces_.clear();
  for (const auto& [end, i] : ends) pieces_.push_back(shares[i]), length += shares[i].second;
  return length;
}

// The round may end before all pieces, with its epoch.
std::vector<Planner::Share> Planner::elastic_shares(Interval positions) {
  std::vector<Share> shares;
  Position at = positions.begin;
  for (const auto& [slot, length] : std::exchange(pieces_, {})) {
    const Position end = at + std::min(length, positions.end - at);
    if (at < end) shares.push_back({slot, {at, end}});
    at = end;
  }
  CHECK(at == positions.end, "the pieces are as long as the round or longer");
  return shares;
}

std::vector<Planner::Share> Planner::by_grain(const RoundState& round, std::vector<Share> shares) const {
  if (!grain_by_grain_ || round.purpose() != Purpose::train) return shares;
  std::vector<Share> cut;
  for (const Share& share : shares) {
    if (share.measures) cut.push_back(share);
    for (Interval part = share.positions; part.begin < share.positions.end && !share.measures;
         part.begin = part.end) {
      part.end = part.begin + std::min(grain_, share.positions.end - part.begin);
      cut.push_back({share.slot, part, share.hub});
    }
  }
  return cut;
}

std::vector<Planner::Share> Planner::divide_in_batches(const RoundState& round, Interval positions,
                                                       const balancing::Request& request, HubNumber hub) {
  const std::uint64_t count = grains_in(positions.size(), round.batch);
  const bool drawn = hubs_.count > 0 && hub == whole_model;
  const std::vector<std::uint64_t> taken =
      drawn ? drawn_steps(plan(request), count, hash(seed_, round.round())) : batches(count, request, hub);
  std::vector<std::size_t> order(taken.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto its_hub = [&](std::size_t i) { return drawn ? hubs_.of(request.workers[i].slot) : hub; };
  std::ranges::stable_sort(order, {}, its_hub);
  std::vector<Share> shares;
  Position at = positions.begin;
  for (const std::size_t i : order) {
    if (taken[i] == 0) continue;
    const Position end = at + std::min(taken[i] * round.batch, positions.end - at);
    shares.push_back({request.workers[i].slot, {at, end}, its_hub(i)});
    at = end;
  }
  return shares;
}

std::vector<std::uint64_t> Planner::batches(std::uint64_t count, const balancing::Request& request,
                                            HubNumber hub) {
  const std::vector<std::uint64_t> grains = plan(request);
  std::vector<double> weights(grains.begin(), grains.end()), its(weights.size());
  for (std::size_t i = 0; i < its.size(); ++i) {
    if (hubs_.of(request.workers[i].slot) == hub) its[i] = std::max(1.0, weights[i]);
  }
  const bool anybody = std::ranges::any_of(its, [](double weight) { return weight > 0; });
  return balancing::largest_remainder(hub != whole_model && anybody ? its : weights, count);
}

std::optional<std::uint64_t> Planner::length(Round round, std::uint64_t epoch) {
  if (lookahead_ > 0) {
    const std::uint64_t length = elastic_length(round, epoch);
    return length > 0 ? std::optional(length) : std::nullopt;
  }
  if (!paced_) return std::nullopt;
  const std::uint64_t batch = batch_of(global_batch_, 1);
  if (batch == 0) return std::nullopt;
  balancing::Request request{round, 0, workers(nullptr), epoch + 1, {}, grain_};
  request.positions = request.workers.size() * (batch / grain_);
  request.walk.batch = batch / grain_;
  const auto paces = asked([&] { return policy_->pacing()->steps(request); });
  std::uint64_t steps = 0;
  for (const std::uint64_t each : paces.value_or(std::vector<std::uint64_t>()))
    steps += std::min(each, balancing::Pacing::most_steps);
  return std::max(steps, request.workers.size()) * batch;  // at least one each
}

void Planner::ended(const RoundState& round, double seconds, double accuracy) {
  if (!paced_) return;
  std::uint64_t told = 0;  // without positions of lost workers: their accuracy is unknown
  for (const RoundState::Part& part : round.parts()) told += part.samples;
  (void)asked([&] {
    policy_->pacing()->ended(
        {round.open().epoch + 1, grains_in(told, grain_), std::max(accuracy, 0.0), seconds});
    return true;
  });
}

void Planner::observe(const balancing::Sample& sample) {
  if (lookahead_ > 0 && sample.samples > 0 && sample.seconds > 0)
    grain_seconds_[sample.slot] = sample.seconds / static_cast<double>(sample.samples);
  (void)asked([&] { return policy_->observe(sample), true; });
}

std::uint64_t Planner::batch_for(const RoundState& round) const {
  const BeginRound& open = round.open();
  return paced_ ? batch_of(global_batch_, 1) : batch_of(open.positions.size(), open.local.steps);
}

std::uint64_t Planner::batch_of(std::uint64_t positions, std::uint64_t steps) const {
  std::uint64_t workers = 0, most = UINT64_MAX;
  for (const auto& [slot, worker] : members_.workers) {
    if (!worker.working()) continue;
    ++workers;
    if (worker.most > 0) most = std::min(most, std::max<std::uint64_t>(1, worker.most / grain_) * grain_);
  }
  return workers == 0 ? 0 : std::min(most, balanced_batch(positions, steps, workers, grain_));
}

std::map<std::uint32_t, std::uint64_t> Planner::quotas(const RoundState& round) {
  balancing::Request wanted = request(round, round.open().positions);
  std::map<std::uint32_t, std::uint64_t> quotas;
  if (wanted.workers.empty()) return quotas;
  wanted.positions = capacity(wanted);
  const std::vector<std::uint64_t> grains = plan(wanted);
  for (std::size_t i = 0; i < grains.size(); ++i) quotas[wanted.workers[i].slot] = grains[i] * grain_;
  return quotas;
}

std::uint64_t Planner::most(const WorkerMember& worker, const RoundState& round) const {
  const std::uint64_t grains = most_grains(worker, round);
  return grains > UINT64_MAX / grain_ ? UINT64_MAX : grains * grain_;
}

std::optional<balancing::Sample> Planner::sample(const WorkerMember& worker, const Report& report,
                                                 const MachineReading& planned, double waited,
                                                 const RoundState* round) const {
  std::uint64_t positions = report.piece.positions.size();
  double seconds = report.seconds;
  if (grain_by_grain_ && round != nullptr) {
    for (const RoundState::Part& part : round->parts()) {
      if (part.slot == worker.slot) positions = part.samples, seconds = part.seconds;
    }
    waited = -1;  // most of it was spent on the preceding pieces
  }
  const std::uint64_t grains = grains_in(positions, grain_);
  const double whole = static_cast<double>(grains * grain_) / static_cast<double>(positions);
  if (whole > 1 + little_missing) return std::nullopt;
  return balancing::Sample{worker.slot,     report.piece.round, grains,
                           seconds * whole, report.cpu,         report.memory,
                           waited,          planned.cpu,        planned.memory};
}

// Memory has to hold one local step at a time, which is whole grains.
std::uint64_t Planner::most_grains(const WorkerMember& worker, const RoundState& round) const {
  if (round.batch > 0) return UINT64_MAX;
  const std::uint64_t steps = std::max<std::uint64_t>(1, round.open().local.steps),
                      most = worker.most / grain_;
  return worker.most == 0 || most > UINT64_MAX / steps ? UINT64_MAX : most * steps;
}

balancing::Request Planner::request(const RoundState& round, Interval positions) const {
  balancing::Request request{
      round.round(), grains_in(positions.size(), grain_), workers(&round), round.open().epoch + 1, {},
      grain_};
  if (const auto& local = round.open().local; local.steps > 0)
    request.walk = {local.passes, local.steps, round.batch / grain_};
  if (!grain_by_grain_) bound_by_room(request);
  return request;
}

// Limits workers on crowded machines, if the other workers can take the rest of the round.
void Planner::bound_by_room(balancing::Request& request) const {
  balancing::Request bounded = request;
  const std::uint64_t part = request.positions / std::max<std::size_t>(1, request.workers.size());
  for (balancing::WorkerView& view : bounded.workers) {
    const std::uint64_t most = members_.workers.at(view.slot).room.most(part * grain_);
    view.most = std::min(view.most, most == UINT64_MAX ? most : grains_in(most, grain_));
  }
  if (capacity(bounded) == capacity(request)) request = std::move(bounded);
}

// `round`: nullptr for a round that has not begun, in which workers hold one batch at a time.
std::vector<balancing::WorkerView> Planner::workers(const RoundState* round) const {
  std::vector<balancing::WorkerView> views;
  views.reserve(members_.workers.size());
  for (const auto& [slot, worker] : members_.workers) {
    if (!worker.working()) continue;
    const std::uint64_t most = round == nullptr ? UINT64_MAX : most_grains(worker, *round);
    views.push_back({slot, worker.kind, 1, most, worker.reading.cpu, worker.reading.memory, true, worker.name,
                     worker.curve});
  }
  return views;
}

std::vector<std::uint64_t> Planner::plan(const balancing::Request& request) {
  auto shares = asked([&] { return policy_->plan(request); });
  if (shares && is_plan(*shares, request)) return std::move(*shares);
  if (shares) doubt("its shares do not fit the round and the workers' limits");
  return equal_shares(request);
}

template <class Ask>
auto Planner::asked(Ask ask) -> std::optional<decltype(ask())> {
  try {
    return ask();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& trouble) {
    doubt(trouble.what());
    return std::nullopt;
  }
}

void Planner::doubt(const std::string& why) {
  if (std::exchange(doubted_, true)) return;
  doubt_ =
      "warning: policy '" + name_ + "' gave no usable plan (" + why + "); such rounds are divided equally";
}

std::vector<Interval> between_holes(const BeginRound& open) {
  IntervalSet skipped;
  for (const Interval& part : open.skipped) skipped.add(part);
  return skipped.gaps(open.positions);
}

// Shares are rotated only in rounds of whole grains: otherwise the last share ends inside a grain.
std::vector<Planner::Share> shares_between_holes(Planner& planner, const RoundState& round,
                                                 std::uint64_t grain) {
  const std::vector<Interval> parts = between_holes(round.open());
  std::uint64_t count = 0;
  for (const Interval& part : parts) count += part.size();
  std::vector<Planner::Share> shares = planner.divide(round, {0, count}), laid;
  if (shares.empty()) return laid;
  if (count % grain == 0)
    std::ranges::rotate(shares, shares.begin() + static_cast<std::ptrdiff_t>(round.round() % shares.size()));
  auto part = parts.begin();
  Position at = part->begin;
  for (const Planner::Share& share : shares) {
    for (std::uint64_t left = share.positions.size(); left > 0;) {
      if (at == part->end) at = (++part)->begin;
      const std::uint64_t size = std::min(left, part->end - at);
      laid.push_back({share.slot, {at, at + size}});
      at += size, left -= size;
    }
  }
  return laid;
}

// A worker computes its pieces one after another. So it has spent the time since the start of the round,
// minus the time of reported pieces, on the pieces that it had from the start. The start of later pieces is
// unknown.
void leave_unreported(Time now, RoundState& round, Planner& planner, const Members& members) {
  struct Late {
    std::uint64_t positions = 0;
    MachineReading planned{};
  };
  std::map<std::uint32_t, Late> late;  // by owner
  for (const PieceId id : round.select([](const OwedPiece& piece) { return !piece.reported; })) {
    const OwedPiece piece = *round.find(id);
    round.leave_over(id);
    if (!piece.owner || piece.since != round.started()) continue;
    late[*piece.owner].positions += piece.positions.size();
    late[*piece.owner].planned = piece.planned;
  }
  std::map<std::uint32_t, double> reported;
  for (const RoundState::Part& part : round.parts()) reported[part.slot] = part.seconds;
  for (const auto& [slot, its] : late) {
    const auto owner = members.workers.find(slot);
    if (owner == members.workers.end()) continue;
    Report so_far{.piece = {.round = round.round(), .positions = {0, its.positions}}};
    so_far.seconds = seconds(now - round.started()) - reported[slot];
    so_far.cpu = owner->second.cpu, so_far.memory = owner->second.memory;
    if (const auto sample = planner.sample(owner->second, so_far, its.planned, -1)) planner.observe(*sample);
  }
}

}  // namespace steelyard
