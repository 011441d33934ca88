// Leader: which of the scheduler's places (endpoints) a member accepts messages from.
//
// A scheduler and its standby have one place each, and a member is connected to both. It accepts one of them
// at a time: the first that answers, then the one with the highest generation in its heartbeat
// (protocol/messages.h). A former leader that returns is ignored. While the leader's connection is lost, or
// the leader is silent for long, a member sends to all places: a standby learns of a member only by its
// messages, and a leader that was superseded while its machine hung keeps its connections.
//
// One thread, the link's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/time.h"

namespace steelyard {

class Leader {
 public:
  static constexpr Duration patience = std::chrono::seconds(4);  // with a silent leader

  // Whether to accept a message from this place. `generation`: that of a heartbeat.
  bool believes(Time now, std::size_t place, std::optional<std::uint64_t> generation) {
    const bool same = place_ == place;
    const bool none_is_known = !place_;
    const bool takes_over =
        generation && (*generation > generation_ || (!connected_ && *generation == generation_));
    if (!same && !none_is_known && !takes_over) return false;
    if (same && generation && *generation < generation_) return false;
    if (generation) generation_ = *generation;
    place_ = place;
    connected_ = true;
    heard_ = now;
    return true;
  }
  // The connection to this place is lost. Returns whether it was the leader's.
  bool disconnected(std::size_t place) {
    if (place_ != place) return false;
    connected_ = false;
    return true;
  }
  // The place to send to. std::nullopt: all places.
  [[nodiscard]] std::optional<std::size_t> place(Time now) const {
    return connected_ && now - heard_ <= patience ? place_ : std::nullopt;
  }

 private:
  std::optional<std::size_t> place_;
  std::uint64_t generation_ = 0;
  bool connected_ = false;
  Time heard_;  // last accepted message
};

}  // namespace steelyard
