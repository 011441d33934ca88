#include "transport/direct/direct_socket.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace steelyard {
namespace {

constexpr int direct_kind = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;
constexpr int most_not_accepted = 128;

// A first byte of zero makes it a name without a file.
struct Address {
  sockaddr_un at{};
  socklen_t size = 0;
};
Address address_of(const DirectName& name) {
  Address address;
  address.at.sun_family = AF_UNIX;
  const int length =
      std::snprintf(address.at.sun_path + 1, sizeof address.at.sun_path - 1, "steelyard-%016llx%016llx",
                    static_cast<unsigned long long>(name[0]), static_cast<unsigned long long>(name[1]));
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1) + static_cast<socklen_t>(length);
  return address;
}

bool is_own_user(int descriptor) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace

std::optional<DirectName> draw_direct_name() {
  DirectName name{};
  if (getrandom(name.data(), sizeof name, 0) != sizeof name) return std::nullopt;
  return name;
}

std::optional<DirectSocket> DirectSocket::to(const DirectName& name) {
  Descriptor descriptor(socket(AF_UNIX, direct_kind, 0));
  if (!descriptor.there()) return std::nullopt;
  const Address address = address_of(name);
  if (connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&address.at), address.size) != 0)
    return std::nullopt;
  return accepted(std::move(descriptor));
}

std::optional<DirectSocket> DirectSocket::accepted(Descriptor descriptor) {
  if (!descriptor.there() || !is_own_user(descriptor.get())) return std::nullopt;
  return DirectSocket(std::move(descriptor));
}

bool DirectSocket::send(std::span<const std::byte> first, std::span<const std::byte> second) {
  const auto part = [](std::span<const std::byte> bytes) {
    return iovec{const_cast<std::byte*>(bytes.data()), bytes.size()};  // the kernel only reads them
  };
  std::array<iovec, 2> parts{part(first), part(second)};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return sendmsg(descriptor_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

// If the other side closes the socket before it has read all packets, the kernel reports that once, ahead of
// the packets that the other side had sent.
std::optional<std::size_t> DirectSocket::receive(std::span<std::byte> buffer) {
  const auto read = [&] {
    return recv(descriptor_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
  };
  ssize_t size = read();
  if (size < 0 && errno == ECONNRESET) size = read();
  if (size > 0 && static_cast<std::size_t>(size) <= buffer.size()) return static_cast<std::size_t>(size);
  ended_ = size >= 0 || (errno != EAGAIN && errno != EINTR);
  return std::nullopt;
}

std::optional<DirectListener> DirectListener::make() {
  Descriptor descriptor(socket(AF_UNIX, direct_kind, 0));
  const std::optional<DirectName> name = draw_direct_name();
  if (!descriptor.there() || !name) return std::nullopt;
  const Address address = address_of(*name);
  if (bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&address.at), address.size) != 0 ||
      listen(descriptor.get(), most_not_accepted) != 0)
    return std::nullopt;
  return DirectListener(std::move(descriptor), *name);
}

std::optional<DirectSocket> DirectListener::accept(int& most) {
  while (most > 0 && !failed()) {
    Descriptor descriptor(accept4(descriptor_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!descriptor.there()) {
      failed_ = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
      return std::nullopt;
    }
    --most;
    if (auto socket = DirectSocket::accepted(std::move(descriptor))) return socket;
    ++foreign_;
  }
  return std::nullopt;
}

}  // namespace steelyard
