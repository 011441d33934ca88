#include "transport/security/handshakes.h"

#include <zmq.h>

namespace steelyard {
namespace {

std::string refusal(const Handshakes::Place& place, const std::string& what) {
  return "the " + place.who + " at " + place.address + " " + what;
}

}  // namespace

std::optional<std::string> Handshakes::hear(const SocketEvent& event, const Place& place) {
  keyed_ = place.keyed;
  switch (event.kind) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      failed_ = 0;
      return std::nullopt;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      return refusal(
          place,
          "does not let this key in: it is not in the allow-list there, or was revoked; `steelyard keys add` "
          "there lets it in");
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      if (event.descriptor != ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) return std::nullopt;
      return refusal(place, place.keyed ? "uses no keys, and this process does: begin it with --keys, too"
                                        : "speaks only to those that have keys: give --keys DIR");
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      if (!place.keyed || ++failed_ < most_failed) return std::nullopt;
      return refusal(
          place,
          "has another key than is expected there, or uses none, and closes each connection: correct its "
          "line "
          "in the allow-list here (`steelyard keys list` on its machine shows the key that it has)");
    default:
      return std::nullopt;
  }
}

}  // namespace steelyard
