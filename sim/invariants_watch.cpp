#include "sim/invariants_watch.h"

#include <cmath>
#include <utility>

#include "core/random.h"
#include "sim/faults.h"

namespace steelyard::sim {

ExpectedHubs::ExpectedHubs(const Hubs& hubs) : hubs_(hubs) {
  for (HubNumber hub = 1; hub <= hubs.count; ++hub) state_[hub];
}

void ExpectedHubs::computed(const Piece& piece) {
  if (piece.round >= averages_.size()) pieces_[piece.round][piece.hub].add(piece.positions);
}

std::string ExpectedHubs::close(Interval positions, const std::function<double(Interval)>& gradient) {
  const Round round = averages_.size();
  const std::map<HubNumber, IntervalSet> pieces = std::exchange(pieces_[round], {});
  pieces_.erase(round);
  std::uint64_t count = 0;
  for (const auto& [number, its] : pieces) {
    const auto hub = state_.find(number);
    if (hub == state_.end()) return "a piece is of hub " + std::to_string(number) + ", which there is not";
    double sum = 0;
    for (const Interval& part : its.intervals()) sum += gradient(part);
    const auto size = static_cast<double>(its.count());
    hub->second.value -= sum / size;
    hub->second.positions += size;
    count += its.count();
  }
  if (count != positions.size()) return "a position is of no hub, or of two";
  const bool mixes = hubs_.mix_after(round);
  if (mixes) mix();
  std::vector<HubNumber> all;
  for (const auto& [number, hub] : state_) all.push_back(number);
  averages_.push_back(mean(all));
  if (mixes)
    for (auto& [number, hub] : state_) hub.positions = 0;
  return {};
}

ExpectedHubs::Average ExpectedHubs::mean(const std::vector<HubNumber>& of) const {
  double sum = 0, positions = 0;
  for (const HubNumber hub : of) {
    sum += state_.at(hub).positions * state_.at(hub).value;
    positions += state_.at(hub).positions;
  }
  return positions > 0 ? Average{sum / positions, positions} : Average{state_.at(of.front()).value, 0};
}

// Simultaneously: computed from the values before any hub changes.
void ExpectedHubs::mix() {
  std::map<HubNumber, double> mixed;
  for (const auto& [a, hub] : state_) {
    std::vector<HubNumber> near{a};
    for (const auto& [b, other] : state_) {
      if (hubs_.are_neighbours(a, b)) near.push_back(b);
    }
    mixed[a] = mean(near).value;
  }
  for (auto& [number, hub] : state_) hub.value = mixed[number];
}

namespace {

constexpr std::size_t numbers_at_once = 4096;
constexpr std::uint64_t period = 1009;  // of the gradients; a prime, so that no batch is a multiple of it

}  // namespace

CoverageProbe::CoverageProbe(const SyncMode& mode, std::uint64_t batch)
    : mode_(mode), batch_(batch), hubs_(mode.hubs) {
  before_.push_back(0);
  for (std::uint64_t p = 0; p < period; ++p) {
    before_.push_back(before_.back() + static_cast<double>(hash(p) % 17) - 8);
  }
}

void CoverageProbe::open(const BeginRound& open) {
  if (open.round != rounds_.size()) return;
  Expected round{open.positions, gradient(open.positions), open.positions.size()};
  for (const Interval& part : open.skipped) {
    round.gradient -= gradient(part);
    round.positions -= part.size();
  }
  rounds_.push_back(round);
  all_ += round.gradient / static_cast<double>(round.positions);
}

double CoverageProbe::gradient(Interval positions) const {
  const auto before = [&](Position p) {
    const std::uint64_t periods = p / period;
    return static_cast<double>(periods) * before_[period] + before_[p % period];
  };
  return before(positions.end) - before(positions.begin);
}

// Ten thousand workers push one number each: as many small allocations took longer than all the rest.
Blob CoverageProbe::pushed(const Compute& order) {
  if (!numbers_ || used_ == numbers_->size()) {
    numbers_ = std::make_shared<std::vector<float>>(numbers_at_once);
    used_ = 0;
  }
  if (mode_.has_hubs()) hubs_.computed(order.piece);
  float& number = (*numbers_)[used_++];
  const auto whole = static_cast<double>(order.piece.whole.size());
  double part = 1;
  if (mode_.divide_by_push) part = static_cast<double>(order.piece.positions.size()) / whole;
  if (mode_.lookahead > 0) part = static_cast<double>(std::min(batch_, order.piece.whole.size())) / whole;
  number = static_cast<float>(gradient(order.piece.positions) * part);
  return Blob::of_floats(numbers_, std::span(&number, 1));
}

std::string CoverageProbe::look_at_all(const SliceMemory& slice, const std::string& where) const {
  if (slice.version() != rounds_.size()) return {};
  const double value = slice.current().floats()[0], shortest = static_cast<double>(rounds_.back().positions);
  if (std::abs(value + all_) > 0.25 / shortest + 1e-4 * std::sqrt(static_cast<double>(rounds_.size()))) {
    return where + ": not every position was counted exactly once";
  }
  return {};
}

// A slice closes once all positions are in, so after all pieces of its round were computed.
std::string CoverageProbe::look_at_average(const SliceMemory& slice, const std::string& where) {
  const Version version = slice.version();
  while (hubs_.averages().size() < version) {
    const Round round = hubs_.averages().size();
    if (round >= rounds_.size()) return where + ": a version is missing";
    const std::string trouble =
        hubs_.close(rounds_[round].whole, [&](Interval part) { return gradient(part); });
    if (!trouble.empty()) return where + ": " + trouble;
  }
  const auto& [expected, positions] = hubs_.averages()[version - 1];
  const double rounding = 1e-6 * std::sqrt(static_cast<double>(version)) * (1 + std::abs(expected));
  if (std::abs(slice.current().floats()[0] - expected) > 0.25 / positions + rounding)
    return where + ": not every position was counted exactly once";
  return {};
}

std::string CoverageProbe::look(NodeId node, const Shard& shard) {
  if (mode_.equal_weights || mode_.gathers()) return {};
  std::vector<Seen>& seen = seen_[node];
  const std::vector<SliceMemory>& slices = shard.slices();
  seen.resize(slices.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const SliceMemory& slice = slices[i];
    auto& [version, value] = seen[i];
    if (!slice.loaded() || slice.version() == version) continue;
    const std::string where = "round " + std::to_string(version) + " on " + to_string(node);
    if (mode_.on_arrival || mode_.has_hubs()) {
      version = slice.version();
      std::string trouble = mode_.on_arrival ? look_at_all(slice, where) : look_at_average(slice, where);
      if (!trouble.empty()) return trouble;
      continue;
    }
    if (slice.version() != version + 1 || version >= rounds_.size()) return where + ": a version is missing";
    const auto count = static_cast<double>(rounds_[version].positions);
    const float current = slice.current().floats()[0];
    const double counted = (static_cast<double>(value) - static_cast<double>(current)) * count;
    if (std::abs(counted - rounds_[version].gradient) > 0.25 + 1e-6 * count) {
      return where + ": not every position was counted exactly once";
    }
    ++version;
    value = current;
  }
  return {};
}

void InvariantsWatch::stepped(const Hosted& node, const Envelope* in) {
  if (when_ == When::never || node.id != scheduler_node) return;
  const Scheduler& scheduler = find_(node);
  bool look = when_ == When::steps || in == nullptr || says<ToScheduler, Disconnected, Ready>(in->message);
  const std::list<RoundState>& rounds = scheduler.rounds();
  if (!rounds.empty() && rounds.back().round() >= next_round_) {
    look = true;
    next_round_ = rounds.back().round() + 1;
  }
  if (!look) return;
  if (const std::string trouble = invariants_.check(scheduler); !trouble.empty())
    complain_("an invariant is broken: " + trouble);
}

}  // namespace steelyard::sim
