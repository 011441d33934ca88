#include "balancing/policy/last_round.h"

#include <algorithm>

namespace steelyard::balancing {
namespace {

constexpr double shortest_time = 1e-9;  // seconds; less is a broken clock, not a fast worker

}  // namespace

bool possible_time(double seconds) { return seconds >= shortest_time && seconds <= longest_time; }

bool possible(const Sample& sample) { return sample.samples > 0 && possible_time(sample.seconds); }

void LastRound::add(const Sample& sample) {
  if (!possible(sample) || sample.round < round_) return;
  if (sample.round > round_) {
    round_ = sample.round;
    taken_ = false;
    work_.clear();
  }
  Work& work = work_[sample.slot];
  work.samples += sample.samples;
  work.seconds += sample.seconds;
  work.exchange = std::max(work.exchange, sample.exchange);
}

bool LastRound::take(const Request& request, const Split& split) {
  if (taken_ || work_.empty() || !split.same_workers(request)) return false;
  for (std::size_t i = 0; i < split.slots.size(); ++i) {
    if (split.shares[i] > 0 && !work_.contains(split.slots[i])) return false;
  }
  taken_ = true;
  return true;
}

const LastRound::Work* LastRound::find(std::uint32_t slot) const {
  const auto found = work_.find(slot);
  return found == work_.end() ? nullptr : &found->second;
}

std::uint64_t LastRound::samples() const {
  std::uint64_t sum = 0;
  for (const auto& [slot, work] : work_) sum += work.samples;
  return sum;
}

void LastRound::save(StateWriter& writer) const {
  writer.count(round_).count(taken_ ? 1 : 0).count(work_.size());
  for (const auto& [slot, work] : work_) {
    writer.count(slot).count(work.samples).real(work.seconds).real(work.exchange);
  }
}

void LastRound::restore(StateReader& reader) {
  round_ = reader.count();
  taken_ = reader.count(1) == 1;
  work_.clear();
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    const auto slot = static_cast<std::uint32_t>(reader.count(UINT32_MAX));
    Work& work = work_[slot];
    work.samples = reader.count();
    work.seconds = reader.real();
    reader.require(possible_time(work.seconds), "no round takes that long");
    work.exchange = reader.real();
  }
}

}  // namespace steelyard::balancing
