#include "server/shard/worker_states.h"

#include <algorithm>

#include "core/error.h"

namespace steelyard {
namespace {

constexpr std::size_t most_waiting = 4096;  // requests; further ones are dropped, and repeated by the sender

template <class Said>
void send_to(NodeId to, Said said, Outbox& out) {
  if (to.role == Role::worker) {
    out.send<ToWorker>(to, std::move(said));
  } else if (to.role == Role::checkpointer) {
    out.send<ToCheckpointer>(to, std::move(said));
  }
}

}  // namespace

bool WorkerStates::put(NodeId from, const PutState& put, Outbox& out) {
  if (put.attempt == 0 || !is_sound(put.part, put.parts, put.bytes) ||
      (put.attempt == attempt_ && (put.version != version_ || put.parts != number_)))
    return false;
  send_to(from, StateStored{put.term, put.attempt, put.part}, out);
  if (put.attempt < attempt_) return true;
  if (put.attempt > attempt_) {
    parts_.clear();
    file_.reset();
    term_ = put.term;
    attempt_ = put.attempt;
    version_ = put.version;
    number_ = put.parts;
  }
  if (!parts_.contains(put.part)) parts_.emplace(put.part, store(put));
  std::erase_if(waiting_, [&](const Waiting& it) { return answer(it, out); });
  return true;
}

// Each part has the place in the file that it has in the whole state; the parts of other shards are holes.
WorkerStates::Part WorkerStates::store(const PutState& put) {
  Part part{put.bytes.size(), put.bytes};
  if (!make_file_) return part;
  try {
    if (!file_) file_ = make_file_();
    file_->write(put.part * state_part_bytes, put.bytes);
    part.bytes = {};
  } catch (const Failure&) {  // the disk may be full
  }
  return part;
}

Blob WorkerStates::load(std::uint32_t number, const Part& part) const {
  return part.bytes.empty() ? file_->read(number * state_part_bytes, part.size) : part.bytes;
}

void WorkerStates::get(NodeId from, const GetState& get, Outbox& out) {
  const auto repeats = [&](const Waiting& it) { return it.node == from && it.get.part == get.part; };
  std::erase_if(waiting_, repeats);
  const Waiting it{from, get};
  if (answer(it, out)) return;
  if (from.role == Role::checkpointer) out.send<ToCheckpointer>(from, NotYet{get.version});
  if (waiting_.size() < most_waiting) waiting_.push_back(it);
}

bool WorkerStates::is_superseded(const GetState& get) const {
  if (attempt_ == 0) return false;
  return get.attempt > 0 ? get.attempt < attempt_ : get.version < version_;
}

bool WorkerStates::answer(const Waiting& it, Outbox& out) const {
  const GetState& get = it.get;
  if (is_superseded(get)) {
    send_to(it.node, WorkerState{get.term, get.attempt, get.version, get.part, 0, {}}, out);
    return true;
  }
  const bool right = get.attempt > 0 ? get.attempt == attempt_ : get.version == version_;
  const auto part = parts_.find(get.part);
  if (!right || part == parts_.end()) return false;
  send_to(it.node,
          WorkerState{get.term, attempt_, get.version, get.part, number_, load(get.part, part->second)}, out);
  return true;
}

void WorkerStates::forget(NodeId node) {
  std::erase_if(waiting_, [&](const Waiting& it) { return it.node == node; });
}

std::vector<PutState> WorkerStates::kept() const {
  std::vector<PutState> kept;
  for (const auto& [number, part] : parts_)
    kept.push_back({term_, attempt_, version_, number, number_, load(number, part)});
  return kept;
}

}  // namespace steelyard
