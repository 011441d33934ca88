#include "transport/host.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "protocol/authority.h"
#include "protocol/codec.h"
#include "protocol/keys.h"
#include "protocol/machine.h"

namespace steelyard {
namespace {

void put_key(Message& message, const std::string& key) {
  auto* said = std::get_if<ToScheduler>(&message);
  auto* hello = said == nullptr ? nullptr : std::get_if<Hello>(said);
  if (key.empty() || hello == nullptr || hello->endpoint.empty()) return;
  hello->endpoint = with_key(split_key(hello->endpoint).address, key);
}

// The endpoint came from another process. If it is malformed, the machine gets Unreachable.
void connect(Link& link, NodeId self, const Connect& order) {
  try {
    link.connect(order.node, order.endpoint);
  } catch (const Failure& failure) {
    if (auto notice = notice_for(self, Unreachable{order.node, order.endpoint, failure.what()}))
      link.post({std::move(*notice)});
  }
}

}  // namespace

std::optional<Envelope> let_in(NodeId self, NodeId from, const std::string& key,
                               std::span<const std::byte> header, Blob payload) {
  if (header.size() > largest_header) return std::nullopt;
  auto decoded = decode(self.role, header, std::move(payload));
  if (const auto* other = std::get_if<VersionMismatch>(&decoded)) {
    auto notice = notice_for(self, *other);
    if (notice) notice->from = from;
    return notice;
  }
  auto* message = std::get_if<Message>(&decoded);
  if (message == nullptr || !may_say(from.role, *message)) return std::nullopt;
  put_key(*message, key);
  return Envelope{from, self, std::move(*message)};
}

void deliver(Link& link, const LocalDelivery& local, std::vector<Envelope> said) {
  std::ranges::stable_partition(said, [](const Envelope& it) { return it.to != scheduler_node; });
  for (Envelope& envelope : said) {
    if (const auto* order = std::get_if<ToLink>(&envelope.message)) {
      std::visit(Overloaded{
                     [&](const Connect& it) { connect(link, envelope.from, it); },
                     [&](const Disconnect& it) { link.disconnect(it.node); },
                 },
                 *order);
    } else if (envelope.to.role == Role::compute || envelope.to.role == Role::recorder) {
      if (local) local(std::move(envelope));
    } else {
      link.send(std::move(envelope));
    }
  }
}

}  // namespace steelyard
