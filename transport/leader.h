// Leader: which of the scheduler's places (endpoints) a member accepts messages from.
//
// A scheduler and its standby have one place each, and a member is connected to both. It accepts one of them
// at a time: the first that answers, then the one with the highest generation in its heartbeat
// (protocol/messages.h). A former leader that returns is ignored. While the leader's connection is lost, a
// member sends to all places.
//
// One thread, the link's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace steelyard {

class Leader {
 public:
  // Whether to accept a message from this place. `generation`: that of a heartbeat.
  bool believes(std::size_t place, std::optional<std::uint64_t> generation) {
    const bool same = place_ == place;
    const bool none_is_known = !place_;
    const bool takes_over =
        generation && (*generation > generation_ || (!connected_ && *generation == generation_));
    if (!same && !none_is_known && !takes_over) return false;
    if (same && generation && *generation < generation_) return false;
    if (generation) generation_ = *generation;
    place_ = place;
    connected_ = true;
    return true;
  }
  // The connection to this place is lost. Returns whether it was the leader's.
  bool disconnected(std::size_t place) {
    if (place_ != place) return false;
    connected_ = false;
    return true;
  }
  // The place to send to. std::nullopt: all places.
  [[nodiscard]] std::optional<std::size_t> place() const { return connected_ ? place_ : std::nullopt; }

 private:
  std::optional<std::size_t> place_;
  std::uint64_t generation_ = 0;
  bool connected_ = false;
};

}  // namespace steelyard
