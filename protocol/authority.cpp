#include "protocol/authority.h"

namespace steelyard {
bool may_be(KeyRole key, Role node) {
  switch (key) {
    case KeyRole::scheduler:
      return node == Role::scheduler || node == Role::checkpointer || node == Role::standby;
    case KeyRole::server:
      return node == Role::shard;
    case KeyRole::worker:
      return node == Role::worker;
  }
  return false;
}

bool may_say(Role speaker, const Message& message) {
  const auto among_senders = [&]<class Said>(const Said&) {
    if constexpr (Travels<Said>) {
      return Said::senders.contain(speaker);
    } else {
      return false;
    }
  };
  return std::visit([&](const auto& receiver) { return std::visit(among_senders, receiver); }, message);
}

}  // namespace steelyard
