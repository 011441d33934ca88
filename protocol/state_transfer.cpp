#include "protocol/state_transfer.h"

#include <algorithm>
#include <utility>

namespace steelyard {
namespace {

std::uint64_t parts_in(std::uint64_t bytes) { return (bytes + state_part_bytes - 1) / state_part_bytes; }

}  // namespace

StateUpload::StateUpload(Term term, std::uint64_t attempt, Version version, std::uint64_t bytes, Read read)
    : term_(term),
      attempt_(attempt),
      version_(version),
      bytes_(bytes),
      read_(std::move(read)),
      transfer_(parts_in(bytes), transfer_window) {}

void StateUpload::send(Time now, std::span<const ShardPlace> shards, Outbox& out) {
  if (shards.empty()) return;
  for (const std::size_t number : transfer_.ask(now)) {
    const auto part = static_cast<std::uint32_t>(number);
    const std::uint64_t begin = std::uint64_t{part} * state_part_bytes;
    Blob bytes = read_(begin, std::min<std::uint64_t>(state_part_bytes, bytes_ - begin));
    const auto parts = static_cast<std::uint32_t>(transfer_.size());
    out.send<ToShard>(keeper_of(part, shards),
                      PutState{term_, attempt_, version_, part, parts, std::move(bytes)});
  }
}

void StateUpload::stored(Time now, const StateStored& stored) {
  if (stored.term == term_ && stored.attempt == attempt_) (void)transfer_.came(now, stored.part);
}

StateDownload::StateDownload(Term term, std::uint64_t attempt, Version version, Write write)
    : term_(term), attempt_(attempt), version_(version), write_(std::move(write)), decided_(attempt) {}

std::vector<NodeId> StateDownload::ask(Time now, std::span<const ShardPlace> shards, Outbox& out) {
  std::vector<NodeId> asked;
  if (shards.empty() || superseded_) return asked;
  for (const std::size_t part : (parts_ ? *parts_ : first_).ask(now)) {
    const auto number = static_cast<std::uint32_t>(part);
    asked.push_back(keeper_of(number, shards));
    out.send<ToShard>(asked.back(), GetState{term_, decided_, version_, number});
  }
  return asked;
}

bool StateDownload::take(Time now, const WorkerState& part) {
  if (part.term != term_ || part.version != version_ || (decided_ > 0 && part.attempt != decided_))
    return false;
  if (part.parts == 0) {
    superseded_ = true;
    return true;
  }
  if (!is_sound(part.part, part.parts, part.bytes) || (parts_ && parts_->size() != part.parts)) return false;
  if (!parts_) {
    decided_ = part.attempt;
    parts_.emplace(part.parts, transfer_window);
  }
  if (parts_->has(part.part)) return false;
  write_(std::uint64_t{part.part} * state_part_bytes, part.bytes);
  return parts_->came(now, part.part);
}

void StateDownload::restart() { (parts_ ? *parts_ : first_).restart(); }

}  // namespace steelyard
