#include "protocol/codec.h"

#include <xxhash.h>

#include <utility>

#include "core/check.h"
#include "protocol/archive.h"

namespace steelyard {
namespace {

void put_start(Writer& writer, std::uint8_t receiver, std::size_t kind) {
  writer.put("SY", 2);
  writer(protocol_version, receiver, static_cast<std::uint8_t>(kind));
}

template <class Receiver>
void put_message(Writer& writer, Role role, const Receiver& message) {
  put_start(writer, static_cast<std::uint8_t>(role), message.index());
  std::visit(
      [&]<class Said>(const Said& said) {
        if constexpr (Travels<Said>) {
          writer(said);
        } else {
          CHECK(false, "this message never leaves its machine");
        }
      },
      message);
}

template <class Receiver, std::size_t kind = 0>
Message get_message(Reader& reader, std::size_t wanted) {
  if constexpr (kind == std::variant_size_v<Receiver>) {
    throw Malformed("is of no known kind");
  } else if (kind != wanted) {
    return get_message<Receiver, kind + 1>(reader, wanted);
  } else if constexpr (Travels<std::variant_alternative_t<kind, Receiver>>) {
    std::variant_alternative_t<kind, Receiver> said;
    reader(said);
    return Message(std::in_place_type<Receiver>, std::move(said));
  } else {
    throw Malformed("is of a kind that never travels");
  }
}

Message get_message_for(Role receiver, Reader& reader, std::uint8_t kind) {
  switch (receiver) {
    case Role::scheduler:
      return get_message<ToScheduler>(reader, kind);
    case Role::shard:
      return get_message<ToShard>(reader, kind);
    case Role::worker:
      return get_message<ToWorker>(reader, kind);
    case Role::checkpointer:
      return get_message<ToCheckpointer>(reader, kind);
    case Role::standby:
      return get_message<ToStandby>(reader, kind);
    default:
      throw Malformed("is for a role that has no connection");
  }
}

}  // namespace

Frames encode(const Message& message) {
  Writer writer;
  std::visit(Overloaded{
                 [&](const ToScheduler& m) { put_message(writer, Role::scheduler, m); },
                 [&](const ToShard& m) { put_message(writer, Role::shard, m); },
                 [&](const ToWorker& m) { put_message(writer, Role::worker, m); },
                 [&](const ToCheckpointer& m) { put_message(writer, Role::checkpointer, m); },
                 [&](const ToStandby& m) { put_message(writer, Role::standby, m); },
                 [](const ToCompute&) { CHECK(false, "a pseudo-node is reached without a wire"); },
                 [](const ToRecorder&) { CHECK(false, "a pseudo-node is reached without a wire"); },
                 [](const ToLink&) { CHECK(false, "a pseudo-node is reached without a wire"); },
             },
             message);
  Frames frames{std::move(writer.header), std::nullopt};
  if (writer.has_payload) frames.payload = std::move(writer.payload);
  return frames;
}

std::variant<Message, VersionMismatch, Damage> decode(Role receiver, std::span<const std::byte> header,
                                                      Blob payload) {
  try {
    Reader reader(header, std::move(payload));
    std::uint8_t first = 0, second = 0, role = 0, kind = 0;
    std::uint16_t protocol = 0;
    reader(first, second, protocol);
    if (first != 'S' || second != 'Y') return Damage{"is not ours"};
    if (protocol != protocol_version) return VersionMismatch{protocol};
    reader(role, kind);
    if (role != static_cast<std::uint8_t>(receiver)) return Damage{"is for another role"};
    Message message = get_message_for(receiver, reader, kind);
    if (reader.remaining() != 0) return Damage{"is longer than its fields"};
    if (!reader.detach().empty()) return Damage{"has a payload that it does not announce"};
    return message;
  } catch (const Malformed& damage) {
    return Damage{damage.what()};
  }
}

std::uint64_t fingerprint(const Job& job) {
  Writer writer;
  writer(job);
  return XXH3_64bits(writer.header.data(), writer.header.size());
}

}  // namespace steelyard
