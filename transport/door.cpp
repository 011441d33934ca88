#include "transport/door.h"

#include <utility>

#include "protocol/authority.h"
#include "protocol/codec.h"
#include "protocol/keyed_endpoint.h"
#include "protocol/notice.h"

namespace steelyard {
namespace {

void put_key(Message& message, const std::string& key) {
  auto* said = std::get_if<ToScheduler>(&message);
  auto* hello = said == nullptr ? nullptr : std::get_if<Hello>(said);
  if (key.empty() || hello == nullptr || hello->endpoint.empty()) return;
  hello->endpoint = with_key(split_key(hello->endpoint).address, key);
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

}  // namespace steelyard
