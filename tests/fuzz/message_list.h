// A sequence of messages as one input. Each has the sizes of header and payload (two bytes each), then both.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "protocol/codec.h"

namespace steelyard::fuzz {

inline std::size_t number_at(std::span<const std::byte> bytes) {
  return std::to_integer<std::size_t>(bytes[0]) | std::to_integer<std::size_t>(bytes[1]) << 8;
}

inline void put(std::vector<std::byte>& messages, const Message& message) {
  const Frames frames = encode(message);
  const std::span<const std::byte> payload =
      frames.payload ? frames.payload->bytes() : std::span<const std::byte>();
  for (const std::size_t size : {frames.header.size(), payload.size()}) {
    messages.push_back(static_cast<std::byte>(size & 0xff));
    messages.push_back(static_cast<std::byte>(size >> 8));
  }
  messages.insert(messages.end(), frames.header.begin(), frames.header.end());
  messages.insert(messages.end(), payload.begin(), payload.end());
}

// Removes the next message to `receiver` from the front. Returns std::nullopt if it cannot be decoded; a
// truncated last message is removed as well.
inline std::optional<Message> take_message(std::span<const std::byte>& messages, Role receiver) {
  const std::size_t header = messages.size() < 4 ? 0 : number_at(messages);
  const std::size_t payload = messages.size() < 4 ? 0 : number_at(messages.subspan(2));
  if (messages.size() < 4 + header + payload) {
    messages = {};
    return std::nullopt;
  }
  messages = messages.subspan(4);
  const auto values = std::make_shared<std::vector<std::byte>>(
      messages.begin() + static_cast<std::ptrdiff_t>(header),
      messages.begin() + static_cast<std::ptrdiff_t>(header + payload));
  auto decoded = steelyard::decode(receiver, messages.first(header),
                                   payload == 0 ? Blob() : Blob{values, std::span<const std::byte>(*values)});
  messages = messages.subspan(header + payload);
  auto* message = std::get_if<Message>(&decoded);
  return message == nullptr ? std::nullopt : std::optional(std::move(*message));
}

}  // namespace steelyard::fuzz
