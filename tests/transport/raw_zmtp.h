// A plain TCP socket that uses as much of ZMTP 3.1 as a test needs (RFC 37, NULL mechanism).
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "transport/address.h"
#include "transport/zmq_socket.h"

namespace steelyard::test {

inline std::string big_endian(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(number >> (8 * i));
  return text;
}

class RawZmtp {
 public:
  explicit RawZmtp(const std::string& endpoint) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const HostPort place = host_port(endpoint).value();
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(place.port)));
    inet_pton(AF_INET, place.host.c_str(), &to.sin_addr);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) shut();
  }
  ~RawZmtp() { shut(); }
  RawZmtp(RawZmtp&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  RawZmtp(const RawZmtp&) = delete;
  RawZmtp& operator=(const RawZmtp&) = delete;
  RawZmtp& operator=(RawZmtp&&) = delete;

  // Returns false if the other side has closed, or accepts nothing for two seconds.
  bool send(const std::string& bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t taken =
          ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (taken > 0) sent += static_cast<std::size_t>(taken);
      pollfd writable{socket_, POLLOUT, 0};
      if (taken < 0 && (errno != EAGAIN || ::poll(&writable, 1, 2000) <= 0)) return false;
    }
    return true;
  }
  // Completes the handshake; libzmq accepts no message before it has sent READY itself.
  bool shake_hands(const RoutingId& id) {
    if (!send(greeting() + ready(id)) || read(64).empty()) return false;
    const std::string head_of_ready = read(2);
    return !head_of_ready.empty() && !read(static_cast<unsigned char>(head_of_ready[1])).empty();
  }
  // Whether the other side has closed, or closes within `wait` milliseconds.
  [[nodiscard]] bool closed(int wait = 0) const {
    char bytes[4096];
    while (true) {
      pollfd readable{socket_, POLLIN, 0};
      if (::poll(&readable, 1, wait) <= 0) return false;
      const ssize_t got = ::recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
    }
  }

  static std::string greeting(const std::string& mechanism = "NULL") {
    std::string text = "\xff" + std::string(8, '\0') + "\x7f\x03";
    text += '\x01';
    text += mechanism;
    text.resize(64);
    return text;
  }
  static std::string ready(const RoutingId& id) {
    std::string body = "\x05READY\x0bSocket-Type" + big_endian(6, 4) + "DEALER";
    body += "\x08Identity" + big_endian(id.size(), 4) + std::string(id.begin(), id.end());
    return "\x04" + std::string(1, static_cast<char>(body.size())) + body;
  }
  static std::string frame(std::size_t bytes, bool more) {
    return head(bytes, more ? 3 : 2) + std::string(bytes, 'S');
  }
  // The head of a frame (flags 2, plus 1 if more follow) or a command (6), with an eight-byte length.
  static std::string head(std::uint64_t bytes, int flags) {
    return std::string(1, static_cast<char>(flags)) + big_endian(bytes, 8);
  }

 private:
  // Exactly `size` bytes, or an empty string if they do not arrive within five seconds.
  [[nodiscard]] std::string read(std::size_t size) const {
    std::string bytes(size, '\0');
    std::size_t here = 0;
    while (here < size) {
      pollfd readable{socket_, POLLIN, 0};
      const bool comes = ::poll(&readable, 1, 5000) > 0;
      const ssize_t got = comes ? ::recv(socket_, bytes.data() + here, size - here, 0) : 0;
      if (got <= 0) return "";
      here += static_cast<std::size_t>(got);
    }
    return bytes;
  }
  void shut() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  int socket_;
};

// Resident memory of this process, in bytes.
inline std::uint64_t resident_bytes() {
  std::uint64_t pages = 0, resident = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu %lu", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace steelyard::test
