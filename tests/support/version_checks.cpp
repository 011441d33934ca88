#include "tests/support/version_checks.h"

#include <algorithm>

#include "nn/optimizer/schedule.h"
#include "tests/support/toy_job.h"

namespace steelyard::test {

std::span<const float> GatheredSums::in(NodeId shard, std::uint64_t added, const SliceMemory& slice,
                                        const Envelope* message) {
  const auto [at, is_new] = seen_.try_emplace({shard, slice.place().begin});
  Seen& seen = at->second;
  const std::span current = slice.current().floats();
  if (is_new) {
    seen.known = slice.version() == first_;  // unknown for a mirror that is filled later
    seen.in.resize(current.size());
    for (Round round = 0; round < std::min<Round>(first_, current.size()); ++round)
      seen.in[round] = -static_cast<float>(job_.schedule.base);
  } else if (slice.steps() != seen.steps) {
    const auto* content = message != nullptr ? std::get_if<ToShard>(&message->message) : nullptr;
    const auto* push = content != nullptr ? std::get_if<Push>(content) : nullptr;
    seen.known &= push != nullptr && slice.steps() == seen.steps + 1;
    if (seen.known) {
      const std::uint64_t pushed = added > seen.added ? push->piece.positions.size() : 0;  // 0: repeated
      const auto weight = static_cast<float>(seen.gathered + pushed - slice.gathered());
      for (std::size_t i = 0; i < current.size(); ++i) seen.in[i] += (current[i] - seen.values[i]) * weight;
    }
  }
  seen.values.assign(current.begin(), current.end());
  seen.steps = slice.steps(), seen.gathered = slice.gathered(), seen.added = added;
  return seen.known ? std::span<const float>(seen.in) : std::span<const float>();
}

VersionChecks::VersionChecks(const Job& job, const Progress& from, std::vector<float> initial)
    : job_(job),
      mode_(job.sync),
      footprints_(job),
      hubs_(job, from, initial),
      gathered_(job, from.version),
      first_(from.version),
      cursor_(job, from),
      momentum_(job.layout.size() * nn::state_slots(server_rule(job))) {
  versions_.push_back(std::move(initial));
  if (from.offset > 0) taken_[from.epoch].add({0, from.offset});
}

void VersionChecks::complain(const std::string& trouble) {
  if (!trouble.empty()) violations_.push_back(trouble);
}

void VersionChecks::opened(const BeginRound& open) {
  if (mode_.backup == 0 || !opens_.emplace(open.round, open).second) return;
  IntervalSet skipped;
  for (const Interval& part : open.skipped) skipped.add(part);
  IntervalSet& taken = taken_[open.epoch];
  for (const Interval& part : skipped.gaps(open.positions)) {
    if (!taken.add_if_absent(part))
      complain("round " + std::to_string(open.round) + " has positions of another round");
  }
  if (open.positions.end == job_.train_samples && taken.count() != job_.train_samples)
    complain("epoch " + std::to_string(open.epoch) + " ends without some of its positions");
}

bool VersionChecks::arrives(const Envelope& envelope) {
  if (const auto* content = std::get_if<ToShard>(&envelope.message)) {
    if (const auto* open = std::get_if<BeginRound>(content)) opened(*open);
  }
  if (const auto* content = std::get_if<ToScheduler>(&envelope.message)) {
    if (const auto* lost = std::get_if<Disconnected>(content)) footprints_.given_up(lost->node);
  }
  if (const auto* content = std::get_if<ToWorker>(&envelope.message)) {
    const auto* done = std::get_if<Computed>(content);
    if (done != nullptr && done->report.piece.purpose == Purpose::train)
      footprints_.pushed(envelope.to, done->report);
    const auto* start = std::get_if<Start>(content);
    if (start != nullptr) footprints_.started(envelope.to, *start);
    if (start != nullptr && start->piece.purpose == Purpose::train) hubs_.given(start->piece);
  }
  return true;
}

void VersionChecks::ordered(NodeId worker, const Compute& order) {
  const std::string round = std::to_string(order.piece.round);
  if (mode_.gathers()) return;   // the worker's own pushes need not be included
  if (mode_.slows_late) return;  // they are included in part
  if (mode_.has_hubs()) {
    const std::string trouble = hubs_.look(order.piece.round, order.piece.hub, 0, order.parameters.floats());
    return complain(trouble.empty() ? trouble : "computed from wrong parameters: " + trouble);
  }
  if (mode_.on_arrival) {
    const std::string trouble = footprints_.look(worker, order);
    if (!trouble.empty()) complain("parameters of " + to_string(worker) + ": " + trouble);
  } else if (job_.push_encoding != FloatCode::float32 || job_.pull_encoding != FloatCode::float32) {
    const std::span received = order.parameters.floats();
    const auto first = received_.try_emplace(order.piece.round, received.begin(), received.end()).first;
    if (!std::ranges::equal(received, first->second))
      complain("round " + round + ": two workers received different values of version " + round);
  } else if (!std::ranges::equal(order.parameters.floats(), expected(order.piece.round))) {
    complain("round " + round + ": computed from parameters that are not version " + round);
  }
}

void VersionChecks::stepped(const sim::Hosted& node, const Envelope* in) {
  if (node.id.role != Role::shard) return;
  const Shard& shard = sim::machine_of<Replica>(node).shard();
  for (const SliceMemory& slice : shard.slices()) {
    if (!slice.loaded()) continue;
    const std::span current = slice.current().floats();
    if (mode_.on_arrival) {
      const std::string trouble =
          mode_.gathers() ? footprints_.look(gathered_.in(node.id, shard.counts().added, slice, in),
                                             mode_.damped ? 0 : slice.version())
                          : footprints_.look(current, mode_.slows_late ? 0 : slice.version());
      if (!trouble.empty()) complain("a shard: " + trouble);
    } else if (mode_.has_hubs()) {
      complain(hubs_.look(slice.version(), whole_model, slice.place().begin, current));
    } else if (job_.push_encoding != FloatCode::float32) {
      continue;  // rounded values are only right on average
    } else if (const std::span whole(expected(slice.version()));
               !std::ranges::equal(current, whole.subspan(slice.place().begin, slice.place().size()))) {
      complain("version " + std::to_string(slice.version()) + " of the slice at " +
               std::to_string(slice.place().begin) + " is not what the plain loop gives");
    }
  }
}

void VersionChecks::stored(const Snapshot& snapshot) {
  if (!mode_.on_arrival || mode_.gathers() || mode_.slows_late) return;
  const Version version = snapshot.progress.version;
  for (const Slice& slice : slices(job_.layout)) {
    const std::span stored(snapshot.parameters.data() + slice.begin, slice.size());
    const std::string trouble = footprints_.look(stored, version, version);
    if (!trouble.empty()) complain("checkpoint " + std::to_string(version) + ": " + trouble);
  }
}

const std::vector<float>& VersionChecks::expected(Version version) {
  if (mode_.has_hubs()) return hubs_.average(version);
  while (versions_.size() <= version - first_) advance();
  return versions_[version - first_];
}

void VersionChecks::advance() {
  BeginRound open{.epoch = cursor_.epoch(), .positions = cursor_.positions(), .local = cursor_.local()};
  if (mode_.backup > 0) open = opens_.at(first_ + versions_.size() - 1);
  std::vector<float> sum(job_.layout.size()), next(job_.layout.size());
  IntervalSet skipped;
  for (const Interval& part : open.skipped) skipped.add(part);
  const std::uint64_t count = open.positions.size() - skipped.count();
  for (const Interval& part : skipped.gaps(open.positions)) {
    for (Position p = part.begin; p < part.end; ++p) {
      for (std::uint64_t e = 0; e < sum.size(); ++e) sum[e] += toy_gradient(p, open.epoch, e);
    }
  }
  const double rate = round_rate(job_.schedule, job_.train_samples, open.epoch, open.positions, open.local);
  const nn::Optimizer rule = server_rule(job_);
  nn::step(rule, {next, versions_.back(), sum, 1.0 / static_cast<double>(count)},
           nn::state_slots(rule) == 0 ? std::span<float>() : std::span(momentum_),
           rate * (mode_.is_local() ? job_.outer_rate : 1), 1);
  versions_.push_back(std::move(next));
  cursor_.advance();
}

}  // namespace steelyard::test
