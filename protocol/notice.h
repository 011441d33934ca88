// What a link tells its own machine. Every receiver has its own variant, so the notice is built for the role.
#pragma once

#include <optional>

#include "protocol/machine.h"

namespace steelyard {

template <class Said>
std::optional<Envelope> notice_for(NodeId to, Said said) {
  const auto build = [&]<class Receiver>(std::in_place_type_t<Receiver> receiver) -> std::optional<Envelope> {
    if constexpr (std::is_constructible_v<Receiver, Said>) {
      return Envelope{link_node, to, Message(receiver, std::move(said))};
    } else {
      return std::nullopt;  // not for this role
    }
  };
  switch (to.role) {
    case Role::scheduler:
      return build(std::in_place_type<ToScheduler>);
    case Role::shard:
      return build(std::in_place_type<ToShard>);
    case Role::worker:
      return build(std::in_place_type<ToWorker>);
    case Role::checkpointer:
      return build(std::in_place_type<ToCheckpointer>);
    case Role::standby:
      return build(std::in_place_type<ToStandby>);
    default:
      return std::nullopt;
  }
}

}  // namespace steelyard
