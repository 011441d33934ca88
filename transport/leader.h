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
#include <type_traits>
#include <variant>

#include "core/time.h"
#include "protocol/machine.h"

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
  // Likewise. But a former leader must learn that it was superseded: the shard answers its claim.
  bool believes(Time now, std::size_t place, const Message& message) {
    const auto* to_shard = std::get_if<ToShard>(&message);
    if (to_shard != nullptr && std::holds_alternative<LeaderClaim>(*to_shard)) return true;
    return std::visit(
        [&](const auto& receiver) {
          if constexpr (std::is_constructible_v<std::decay_t<decltype(receiver)>, SchedulerBeat>) {
            if (const auto* beat = std::get_if<SchedulerBeat>(&receiver))
              return believes(now, place, std::optional(beat->generation));
          }
          return believes(now, place, std::nullopt);
        },
        message);
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
