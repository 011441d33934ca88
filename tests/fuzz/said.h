// Messages one behind the other, as an input: for each two bytes of its header's size and two of its
// payload's, and both.
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

inline void put(std::vector<std::byte>& said, const Message& message) {
  const Frames frames = encode(message);
  const std::span<const std::byte> payload =
      frames.payload ? frames.payload->bytes() : std::span<const std::byte>();
  for (const std::size_t size : {frames.header.size(), payload.size()}) {
    said.push_back(static_cast<std::byte>(size & 0xff));
    said.push_back(static_cast<std::byte>(size >> 8));
  }
  said.insert(said.end(), frames.header.begin(), frames.header.end());
  said.insert(said.end(), payload.begin(), payload.end());
}

// The next one to `receiver`, taken off the front; nothing: it cannot be read. The last that is cut short is
// taken as well.
inline std::optional<Message> take_message(std::span<const std::byte>& said, Role receiver) {
  const std::size_t header = said.size() < 4 ? 0 : number_at(said);
  const std::size_t payload = said.size() < 4 ? 0 : number_at(said.subspan(2));
  if (said.size() < 4 + header + payload) {
    said = {};
    return std::nullopt;
  }
  said = said.subspan(4);
  const auto values =
      std::make_shared<std::vector<std::byte>>(said.begin() + static_cast<std::ptrdiff_t>(header),
                                               said.begin() + static_cast<std::ptrdiff_t>(header + payload));
  auto decoded = steelyard::decode(receiver, said.first(header),
                                   payload == 0 ? Blob() : Blob{values, std::span<const std::byte>(*values)});
  said = said.subspan(header + payload);
  auto* message = std::get_if<Message>(&decoded);
  return message == nullptr ? std::nullopt : std::optional(std::move(*message));
}

}  // namespace steelyard::fuzz
