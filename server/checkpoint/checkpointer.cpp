#include "server/checkpoint/checkpointer.h"

#include <algorithm>
#include <new>

#include "core/error.h"
#include "nn/optimizer/vector.h"
#include "protocol/keys.h"
#include "protocol/machine.h"

namespace steelyard {
namespace {

constexpr std::size_t answers_kept = 4;
constexpr std::size_t parts_at_once = 16;  // in flight for a gathered version, over all shards
constexpr Duration timeout = std::chrono::milliseconds(500);    // between heartbeats
constexpr Duration silence = std::chrono::seconds(5);           // of a shard, before heartbeats name it
constexpr Duration too_long = std::chrono::seconds(60);         // of a shard, before the checkpoint fails
constexpr Duration standstill = std::chrono::minutes(30);       // without a part, although all shards answer
constexpr Duration state_standstill = std::chrono::minutes(5);  // the same for a worker's state

Snapshot without_values(const Snapshot& s) {
  return {s.progress, s.seed, s.fingerprint, s.layout, {}, {}, s.steps, s.source, s.on_workers};
}

std::string in_seconds(Duration duration) {
  return std::to_string(std::chrono::floor<std::chrono::seconds>(duration).count()) + " s";
}

}  // namespace

Checkpointer::Checkpointer(NodeId self, Snapshot initial, std::uint32_t state_slots, OpenCheckpoint open)
    : self_(self),
      initial_(std::make_shared<const Snapshot>(std::move(initial))),
      about_(without_values(*initial_)),
      slices_(slices(about_.layout)),
      slots_(1 + state_slots),
      open_(std::move(open)) {
  if (const auto file = initial_->worker_state) {
    upload_.emplace(about_.progress.term, first_state_attempt, about_.progress.version, file->size(),
                    [file](std::uint64_t begin, std::uint64_t bytes) { return file->read(begin, bytes); });
  }
}

void Checkpointer::step(Time now, const Envelope& in, Outbox& out) {
  now_ = now;
  const auto* message = std::get_if<ToCheckpointer>(&in.message);
  if (message == nullptr || finished_) return ignore();
  if (const auto contact = contacts_.find(in.from); contact != contacts_.end()) {
    contact->second.asked.reset();
    contact->second.trouble.clear();
  }
  std::visit([&](const auto& it) { handle(in.from, it, out); }, *message);
}

void Checkpointer::wake(Time now, Outbox& out) {
  if (finished_ || now < next_) return;
  next_ = now + timeout;
  now_ = now;
  begin(out);
  ask(out);
  if (upload_) upload_->send(now, shards_, out);
  CheckpointerBeat beat{{}, roster_};
  for (const ShardPlace& shard : shards_) {
    const Contact& contact = contacts_.at(shard.node);
    const bool silent = awaited(shard) && contact.asked && now - *contact.asked > silence;
    if (silent || !contact.trouble.empty()) beat.silent.push_back({shard.node, contact.trouble});
  }
  out.send<ToScheduler>(scheduler_node, std::move(beat));
  give_up_waiting(out);
}

std::size_t Checkpointer::index_of(const ShardPlace& shard) const {
  return static_cast<std::size_t>(&shard - shards_.data());
}

const ShardPlace* Checkpointer::place(NodeId shard) const {
  const auto found = std::ranges::find(shards_, shard, &ShardPlace::node);
  return found == shards_.end() ? nullptr : &*found;
}

// The scheduler repeats the roster until every shard reports that it is loaded.
bool Checkpointer::awaited(const ShardPlace& shard) const {
  const Contact& contact = contacts_.at(shard.node);
  if (initial_ && !contact.loaded && now_ - contact.offered <= silence) return true;
  if (!gathering_) return false;
  if (gathering_->worker_state) return true;
  const auto transfer = gathering_->transfers.find(index_of(shard));
  return transfer != gathering_->transfers.end() && !transfer->second.complete();
}

// ---- the initial state

void Checkpointer::handle(NodeId, const Roster& roster, Outbox& out) {
  if (roster.number < roster_) return ignore();
  roster_ = roster.number;
  adopt(roster, shards_, out);
  std::erase_if(contacts_, [&](const auto& it) { return place(it.first) == nullptr; });
  for (const ShardPlace& shard : shards_) {
    const auto [place_of_contact, fresh] = contacts_.try_emplace(shard.node, Contact{});
    Contact& contact = place_of_contact->second;
    for (const auto& [version, saved] : answered_) {
      if (fresh) out.send<ToShard>(shard.node, saved);
    }
    if (fresh) restart(shard);  // a promoted mirror has the same version
    if (!initial_) continue;
    if (now_ - contact.offered > silence) contact.asked.reset();
    contact.offered = now_;
    if (!contact.asked) contact.asked = now_;
    out.send<ToShard>(shard.node, StateOffer{about_.progress.term});
  }
  ask(out);
}

void Checkpointer::handle(NodeId from, const StateRequest& want, Outbox& out) {
  const ShardPlace* shard = place(from);
  if (shard == nullptr || !initial_ || want.term != about_.progress.term) return ignore();
  contacts_.at(from).loaded = want.loaded;
  if (initial_->parameters.empty() && !slices_.empty()) return ignore();  // the values were released
  std::size_t sent = 0;
  for (const StatePart& part : want.parts) {
    const bool its = shard->first <= part.slice && part.slice < shard->last && part.slot < slots_;
    if (!its || part.slice >= slices_.size() || ++sent > transfer_window) return ignore();
    out.send<ToShard>(from, load(part));
  }
}

// The values are views of the snapshot and keep it alive.
StateChunk Checkpointer::load(StatePart part) const {
  const Slice& slice = slices_[part.slice];
  const auto view = [&](const std::vector<float>& whole) {
    return Blob::of_floats(initial_, std::span(whole).subspan(slice.begin, slice.size()));
  };
  StateChunk message{about_.progress.term, about_.progress.version, part.slice, part.slot, about_.steps, {}};
  if (part.slot == 0) {
    message.values = view(initial_->parameters);
  } else if (part.slot - 1 < initial_->state.size()) {
    message.values = view(initial_->state[part.slot - 1]);
  } else {
    message.values = Blob::copy_of(std::vector<float>(slice.size(), 0.0F));
  }
  return message;
}

// ---- checkpoints

void Checkpointer::handle(NodeId, const Save& save, Outbox& out) {
  initial_.reset();
  if (const auto known = answered_.find(save.progress.version); known != answered_.end()) {
    return answer(Saved(known->second), out);
  }
  if (!asked_.try_emplace(save.progress.version, save.progress).second) return ignore();
  begin(out);
  ask(out);
}

void Checkpointer::handle(NodeId, const StateStored& stored, Outbox& out) {
  if (!upload_) return ignore();
  upload_->stored(now_, stored);
  upload_->send(now_, shards_, out);
  if (upload_->complete()) upload_.reset();
}

void Checkpointer::begin(Outbox& out) {
  if (gathering_ || asked_.empty()) return;
  Gathering gathering;
  gathering.version = version();
  gathering.missing = slices_.size() * slots_;
  gathering.progress = now_;
  for (auto& [node, contact] : contacts_) contact.asked.reset();
  Snapshot about = about_;
  about.progress = asked_.begin()->second;
  try {
    gathering.sink = open_(about, slots_ - 1);
    gathering_.emplace(std::move(gathering));
    if (about_.on_workers) gather_worker_state();
  } catch (const std::exception& trouble) {
    answer({version(), false, trouble.what()}, out);
  }
}

// Any attempt of this version: another worker may upload it again if the first one is lost.
void Checkpointer::gather_worker_state() {
  gathering_->worker_state.emplace(
      about_.progress.term, 0, gathering_->version,
      [this](std::uint64_t begin, const Blob& bytes) { gathering_->sink->put_state(begin, bytes); });
}

void Checkpointer::handle(NodeId, const WorkerState& part, Outbox& out) {
  if (!gathering_ || !gathering_->worker_state) return ignore();
  StateDownload& its = *gathering_->worker_state;
  const Version gathered = version();
  write(
      [&] {
        if (!its.take(now_, part)) return false;
        gathering_->progress = now_;
        gathering_->steps = gathered;
        return its.complete();
      },
      out);
  if (!gathering_ || version() != gathered) return;
  if (its.superseded() && !its.begun())
    return answer({gathered, false, "the worker's state was superseded before it was saved"}, out);
  if (its.superseded()) {  // the worker was lost, and another one uploads the same version: from the start
    gathering_.reset();
    begin(out);
  }
  ask(out);
}

void Checkpointer::ask(Outbox& out) {
  if (!gathering_) return;
  if (gathering_->worker_state) {
    for (const NodeId shard : gathering_->worker_state->ask(now_, shards_, out)) {
      if (Contact& contact = contacts_.at(shard); !contact.asked) contact.asked = now_;
    }
    return;
  }
  const std::size_t window =
      std::max<std::size_t>(1, parts_at_once / std::max<std::size_t>(1, shards_.size()));
  for (const ShardPlace& shard : shards_) {
    const std::size_t parts = std::size_t{shard.last - shard.first} * slots_;
    Transfer& transfer = gathering_->transfers.try_emplace(index_of(shard), parts, window).first->second;
    Fetch fetch{version(), parts_of(transfer.ask(now_), shard.first, slots_)};
    if (fetch.parts.empty()) continue;
    if (Contact& contact = contacts_.at(shard.node); !contact.asked) contact.asked = now_;
    out.send<ToShard>(shard.node, std::move(fetch));
  }
}

void Checkpointer::handle(NodeId from, const State& state, Outbox& out) {
  const ShardPlace* shard = place(from);
  if (!gathering_ || state.version != version() || shard == nullptr || state.slice < shard->first ||
      state.slice >= std::min<std::size_t>(shard->last, slices_.size()) || state.slot >= slots_ ||
      !state.values.holds_floats(slices_[state.slice].size())) {
    return ignore();
  }
  const auto transfer = gathering_->transfers.find(index_of(*shard));
  const std::size_t part = std::size_t{state.slice - shard->first} * slots_ + state.slot;
  if (transfer == gathering_->transfers.end() || !transfer->second.came(now_, part)) return ignore();
  gathering_->progress = now_;
  put(state, out);
  ask(out);
}

// Writes a part to the checkpoint, and finishes the checkpoint after the last part. That may take long; the
// next gathering begins in wake(), with the new time.
void Checkpointer::put(const State& state, Outbox& out) {
  write(
      [&] {
        // Keeps the preceding checkpoint instead.
        if (state.slot == 0 && !nn::all_finite(state.values.floats()))
          throw Failure(ExitCode::failed,
                        "the parameters are not finite; lower train.lr, or set train.clip_norm");
        gathering_->sink->put(state.slot, slices_[state.slice].begin, state.values.floats());
        gathering_->steps = std::max(gathering_->steps, state.steps);
        return --gathering_->missing == 0;
      },
      out);
}

void Checkpointer::write(const std::function<bool()>& write, Outbox& out) {
  Saved saved{version(), false, {}};
  try {
    if (!write()) return;
    saved.text = gathering_->sink->finish(gathering_->steps);
    saved.ok = true;
  } catch (const std::bad_alloc&) {
    saved.text = "no memory is left for it";
  } catch (const std::exception& trouble) {
    saved.text = trouble.what();
  }
  answer(saved, out);
}

void Checkpointer::handle(NodeId, const VersionExpired& gone, Outbox& out) {
  if (!asked_.contains(gone.wanted)) return ignore();
  answer(
      {gone.wanted, false, "version " + std::to_string(gone.wanted) + " was superseded before it was saved"},
      out);
}

void Checkpointer::give_up_waiting(Outbox& out) {
  if (!gathering_) return;
  for (const ShardPlace& shard : shards_) {
    const auto& [asked, offered, loaded, trouble] = contacts_.at(shard.node);
    const Duration silent = now_ - asked.value_or(now_);
    if (!awaited(shard) || silent <= too_long) continue;
    return answer(
        {version(), false,
         "server '" + shard.name + "' at " + split_key(shard.endpoint).address +
             " has not answered the scheduler's machine for " + in_seconds(silent) + ": " +
             (trouble.empty() ? "check its --advertise, and the network between the two" : trouble)},
        out);
  }
  if (now_ - gathering_->progress > (gathering_->worker_state ? state_standstill : standstill)) {
    answer({version(), false, "no part of it has arrived for " + in_seconds(now_ - gathering_->progress)},
           out);
  }
}

void Checkpointer::answer(const Saved& saved, Outbox& out) {
  if (gathering_ && version() == saved.version) gathering_.reset();
  asked_.erase(saved.version);
  answered_[saved.version] = saved;
  if (answered_.size() > answers_kept) answered_.erase(answered_.begin());
  out.send<ToScheduler>(scheduler_node, saved);
  for (const ShardPlace& shard : shards_) out.send<ToShard>(shard.node, saved);
  if (!asked_.empty()) next_ = Time{};  // begin the next one
}

// ---- connections

// The scheduler waits for a lost shard or replaces it. This class requests its parts again.
void Checkpointer::handle(NodeId, const Disconnected& lost, Outbox&) {
  if (const auto contact = contacts_.find(lost.node); contact != contacts_.end())
    contact->second.trouble.clear();  // it was connected meanwhile
  if (const ShardPlace* shard = place(lost.node)) restart(*shard);
}

void Checkpointer::restart(const ShardPlace& shard) {
  if (upload_) upload_->restart();
  if (!gathering_) return;
  if (gathering_->worker_state) gathering_->worker_state->restart();
  if (const auto it = gathering_->transfers.find(index_of(shard)); it != gathering_->transfers.end())
    it->second.restart();
}

void Checkpointer::handle(NodeId, const Unreachable& it, Outbox&) {
  if (const auto contact = contacts_.find(it.node); contact != contacts_.end())
    contact->second.trouble = it.why;
}

static_assert(Machine<Checkpointer>);

}  // namespace steelyard
