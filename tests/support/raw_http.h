// A client that sends arbitrary bytes, to test servers with invalid requests.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace steelyard {

class RawClient {
 public:
  explicit RawClient(unsigned port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // Returns false if the bytes cannot be sent.
  bool say(const std::string& text) const {  // NOLINT(modernize-use-nodiscard)
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // Everything received until the connection is closed, or nothing arrives for 30 seconds.
  [[nodiscard]] std::string answer() const {
    std::string text;
    pollfd it{socket_, POLLIN, 0};
    char part[4096];
    while (::poll(&it, 1, 30'000) > 0) {
      const ssize_t got = ::recv(socket_, part, sizeof part, 0);
      if (got <= 0) break;
      text.append(part, static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  const int socket_;
};

inline std::string asked(unsigned port, const std::string& request) {
  const RawClient client(port);
  client.say(request);
  return client.answer();
}

}  // namespace steelyard
