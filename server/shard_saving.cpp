// How a shard gives the checkpointer a version, part by part, for a checkpoint.
#include "server/shard.h"

namespace steelyard {

// Parameters by reference, since a version never changes; a copy of the optimizer's state.
void Shard::keep(const SliceMemory& slice) {
  const std::uint32_t its = number(slice);
  auto& kept = snapshots_[slice.version()][its];
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    kept.push_back({slice.version(), its, slot, slice.steps(), slice.copy_of(slot)});
  }
}

void Shard::handle(Time, NodeId from, const Fetch& fetch, Outbox& out) {
  checkpointer_ = from;
  if (fetch_ != fetch.version) awaited_.clear();
  fetch_ = fetch.version;
  bool later = false;
  for (const StatePart& part : fetch.parts) {
    if (find(part.slice) == nullptr || part.slot >= slots()) {
      ignore();
    } else if (!send_state(part, fetch.version, out)) {
      awaited_.insert(part);
      later = true;
    }
  }
  if (later) out.send<ToCheckpointer>(*checkpointer_, Later{fetch.version});
}

bool Shard::send_state(StatePart part, Version version, Outbox& out) {
  const auto [number, slot] = part;
  const SliceMemory& slice = *find(number);
  const auto snapshot = snapshots_.find(version);
  if (snapshot != snapshots_.end() && snapshot->second.contains(number)) {
    out.send<ToCheckpointer>(*checkpointer_, snapshot->second.at(number).at(slot));
  } else if (slice.loaded() && slice.version() == version) {
    out.send<ToCheckpointer>(*checkpointer_,
                             State{version, number, slot, slice.steps(), slice.copy_of(slot)});
  } else if (!rule_->changes_state() && slice.version() == version + 1 && slice.previous()) {
    // A job that was told to end in the middle of a round saves what was there before, and this slice has
    // closed all the same. Its parameters are kept; the state of a rule that has one is written over.
    const Blob values = slot == 0 ? *slice.previous() : slice.copy_of(slot);
    out.send<ToCheckpointer>(*checkpointer_, State{version, number, slot, slice.steps() - 1, values});
  } else if (slice.version() > version) {
    out.send<ToCheckpointer>(*checkpointer_, Gone{version, slice.version()});
  } else {
    return false;
  }
  return true;
}

// The slice has closed, and has what the checkpointer asked for before.
void Shard::send_awaited(std::uint32_t slice, Outbox& out) {
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    if (awaited_.erase({slice, slot}) > 0) send_state({slice, slot}, *fetch_, out);
  }
}

void Shard::handle(Time, NodeId, const Saved& saved, Outbox&) {
  snapshots_.erase(snapshots_.begin(), snapshots_.upper_bound(saved.version));
  if (!fetch_ || *fetch_ > saved.version) return;
  fetch_.reset();
  awaited_.clear();
}

}  // namespace steelyard
