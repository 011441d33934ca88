// DirectSocket: a Unix socket between the links of two processes of one host and user.
//
// libzmq's own threads send and receive its frames, so a frame wakes four threads on its way. Packets of this
// socket are written and read by the threads of the two links themselves, so a packet wakes one. Packets keep
// order and borders. The kernel closes the socket with its process; packets sent before can still be read.
//
// The listening side has a name without a file, in the network namespace. Both sides verify that the other
// process belongs to the same user.
//
// One thread, the link's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/descriptor.h"

namespace steelyard {

using DirectName = std::array<std::uint64_t, 2>;
// Drawn at random. Returns std::nullopt if the system has no random numbers.
std::optional<DirectName> draw_direct_name();

class DirectSocket {
 public:
  // Connects. Returns std::nullopt if no process of this user listens there, or none within this namespace.
  static std::optional<DirectSocket> to(const DirectName& name);
  // Takes an accepted connection. Returns std::nullopt if its process belongs to another user.
  static std::optional<DirectSocket> accepted(Descriptor descriptor);

  // Sends one packet with these bytes in this order. Never blocks: false if the other side has not read
  // enough, or has closed the socket. It is then unchanged.
  bool send(std::span<const std::byte> first, std::span<const std::byte> second = {});
  // Reads the next packet into `buffer` and returns its size. Returns std::nullopt if no packet waits. A
  // packet that is longer than `buffer` ends the connection.
  std::optional<std::size_t> receive(std::span<std::byte> buffer);

  // The other side has closed it, and all of its packets have been read; or a packet was too long.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  explicit DirectSocket(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  Descriptor descriptor_;
  bool ended_ = false;
};

class DirectListener {
 public:
  // Other users can find its name and connect repeatedly. After this number of connections failed() is true.
  static constexpr int most_foreign = 64;
  // Returns std::nullopt if the system has no descriptor or no random numbers left.
  static std::optional<DirectListener> make();

  [[nodiscard]] const DirectName& name() const { return name_; }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // The next connection of this user. Does not block. Closes those of other users before it. Takes at most
  // `most` connections of any user, and subtracts them.
  std::optional<DirectSocket> accept(int& most);
  // The system has no descriptor left for a connection that waits, or other users connected too often.
  [[nodiscard]] bool failed() const { return failed_ || foreign_ >= most_foreign; }

 private:
  DirectListener(Descriptor descriptor, const DirectName& name)
      : descriptor_(std::move(descriptor)), name_(name) {}

  Descriptor descriptor_;
  DirectName name_;
  bool failed_ = false;
  int foreign_ = 0;
};

}  // namespace steelyard
