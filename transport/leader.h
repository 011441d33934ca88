// Leader: which of several places of the scheduler a member believes.
//
// A scheduler and its standby have a place each, and a member keeps a connection to both. It believes one of
// them at a time: the first that answers, and from then on the one whose heartbeat has the highest generation
// (protocol/messages.h). A former leader that comes back is not believed. While the leader's connection is
// gone a member sends to all places.
//
// One thread, the link's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace steelyard {

class Leader {
 public:
  // Whether a message that came from this place counts. `generation`: it is a heartbeat, and has this one.
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
  // The connection to this place is gone. Whether it was the leader's.
  bool disconnected(std::size_t place) {
    if (place_ != place) return false;
    connected_ = false;
    return true;
  }
  // Where messages go. Nothing: to all places.
  [[nodiscard]] std::optional<std::size_t> place() const { return connected_ ? place_ : std::nullopt; }

 private:
  std::optional<std::size_t> place_;
  std::uint64_t generation_ = 0;
  bool connected_ = false;
};

}  // namespace steelyard
