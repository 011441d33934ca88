#include "sim/server_clock.h"

#include "server/mirror/replica.h"

namespace steelyard::sim {

ServerClock::ServerClock(const ServerTimes& times, const Job& job, std::uint32_t servers)
    : push_s_(times.push_ms / 1000),
      update_s_(times.update_ms / 1000),
      slices_(slices(job.layout)),
      floats_(static_cast<double>(job.layout.size())),
      shards_per_server_(static_cast<double>(job.shards) / servers) {}

double ServerClock::seconds_before(const Envelope& in) const {
  const auto* message = std::get_if<ToShard>(&in.message);
  const auto* push = message == nullptr ? nullptr : std::get_if<Push>(message);
  return push == nullptr ? 0 : push_s_ * share_of(slices_.at(push->slice));
}

double ServerClock::seconds_after(const Hosted& node) {
  if (update_s_ == 0 || node.id.role != Role::shard) return 0;
  double steps = 0;
  for (const SliceMemory& slice : machine_of<Replica>(node).shard().slices())
    steps += static_cast<double>(slice.steps()) * share_of(slice.place());
  double& before = stepped_[node.id];
  const double takes_s = update_s_ * (steps - before);
  before = steps;
  return takes_s;
}

}  // namespace steelyard::sim
