#include "server/keeper.h"

#include <algorithm>

#include "core/error.h"
#include "nn/optimizer/vector.h"
#include "wire/roster.h"

namespace steelyard {
namespace {

constexpr std::size_t answers_kept = 4;
constexpr Duration patience = std::chrono::milliseconds(500);  // between signs of life
constexpr Duration silence = std::chrono::seconds(2);          // before something is said or asked again

}  // namespace

Keeper::Keeper(NodeId self, Snapshot initial, std::uint32_t state_slots, Store store)
    : self_(self),
      initial_(std::move(initial)),
      slices_(slices(initial_.layout)),
      slots_(1 + state_slots),
      store_(std::move(store)) {}

void Keeper::step(Time now, const Envelope& in, Outbox& out) {
  now_ = now;
  const auto* message = std::get_if<ToKeeper>(&in.message);
  if (message == nullptr || finished_) return ignore();
  std::visit([&](const auto& it) { handle(it, out); }, *message);
}

void Keeper::wake(Time now, Outbox& out) {
  if (finished_ || now < next_) return;
  next_ = now + patience;
  now_ = now;
  out.send<ToScheduler>(scheduler_node, KeeperBeat{});
  if (now - heard_ > silence) fetch(out);  // while answers come, all is well
}

// The scheduler repeats the roster until every shard says that it is loaded.
void Keeper::handle(const Roster& roster, Outbox& out) {
  adopt(roster, shards_, out);
  for (const ShardPlace& shard : shards_) {
    const auto [loaded, is_new] = loaded_.try_emplace(shard.node, now_);
    if (!is_new && now_ - loaded->second <= silence) continue;  // it is on its way
    loaded->second = now_;
    load(shard, out);
  }
}

void Keeper::load(const ShardPlace& shard, Outbox& out) {
  const auto& progress = initial_.progress;
  for (std::uint32_t number = shard.first; number < std::min<std::size_t>(shard.last, slices_.size());
       ++number) {
    const Slice& slice = slices_[number];
    for (std::uint32_t slot = 0; slot < slots_; ++slot) {
      Load message{progress.term, progress.version, number, slot, initial_.steps, {}};
      if (slot == 0) {
        message.values = Blob::copy_of(std::span(initial_.parameters).subspan(slice.begin, slice.size()));
      } else if (slot - 1 < initial_.state.size()) {
        message.values =
            Blob::copy_of(std::span(initial_.state[slot - 1]).subspan(slice.begin, slice.size()));
      } else {
        message.values = Blob::copy_of(std::vector<float>(slice.size(), 0.0F));
      }
      out.send<ToShard>(shard.node, std::move(message));
    }
  }
}

void Keeper::handle(const Save& save, Outbox& out) {
  if (const auto known = answered_.find(save.progress.version); known != answered_.end()) {
    return answer(Saved(known->second), out);
  }
  const auto [entry, is_new] = gatherings_.try_emplace(save.progress.version);
  if (!is_new) return ignore();
  Gathering& gathering = entry->second;
  gathering.snapshot = {save.progress,  initial_.seed, initial_.fingerprint, initial_.layout, {}, {}, 0,
                        initial_.source};
  gathering.snapshot.parameters.resize(initial_.layout.size());
  gathering.snapshot.state.assign(slots_ - 1, std::vector<float>(initial_.layout.size()));
  gathering.missing = slices_.size() * slots_;
  gathering.arrived.assign(gathering.missing, false);
  fetch(out);
}

void Keeper::fetch(Outbox& out) {
  if (gatherings_.empty()) return;
  heard_ = now_;  // of being asked
  for (const ShardPlace& shard : shards_) out.send<ToShard>(shard.node, Fetch{gatherings_.begin()->first});
}

void Keeper::handle(const State& state, Outbox& out) {
  const auto entry = gatherings_.find(state.version);
  heard_ = now_;
  if (entry == gatherings_.end() || state.slice >= slices_.size() || state.slot >= slots_) return ignore();
  Gathering& gathering = entry->second;
  const Slice& slice = slices_[state.slice];
  const std::size_t index = std::size_t{state.slice} * slots_ + state.slot;
  if (gathering.arrived[index] || !state.values.holds_floats(slice.size())) return ignore();
  std::vector<float>& whole =
      state.slot == 0 ? gathering.snapshot.parameters : gathering.snapshot.state[state.slot - 1];
  std::ranges::copy(state.values.floats(), whole.begin() + static_cast<std::ptrdiff_t>(slice.begin));
  gathering.snapshot.steps = std::max(gathering.snapshot.steps, state.steps);
  gathering.arrived[index] = true;
  if (--gathering.missing > 0) return;

  Saved saved{state.version, true, {}};
  try {
    // The checkpoint before it is worth more.
    if (!nn::all_finite(gathering.snapshot.parameters))
      throw Failure(ExitCode::failed,
                    "the parameters are not finite; lower train.lr, or set train.clip_norm");
    saved.text = store_(gathering.snapshot);
  } catch (const Failure& failure) {
    saved.ok = false;
    saved.text = failure.what();
  }
  answer(saved, out);
}

void Keeper::handle(const Gone& gone, Outbox& out) {
  if (!gatherings_.contains(gone.wanted)) return ignore();
  answer({gone.wanted, false, "version " + std::to_string(gone.wanted) + " was replaced before it was saved"},
         out);
}

void Keeper::answer(const Saved& saved, Outbox& out) {
  gatherings_.erase(saved.version);
  answered_[saved.version] = saved;
  if (answered_.size() > answers_kept) answered_.erase(answered_.begin());
  out.send<ToScheduler>(scheduler_node, saved);
  for (const ShardPlace& shard : shards_) out.send<ToShard>(shard.node, saved);
  fetch(out);
}

static_assert(Machine<Keeper>);

}  // namespace steelyard
