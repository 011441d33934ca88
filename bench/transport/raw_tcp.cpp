// The limit by the kernel: blocking in poll(), 256 KB at a time, one connection a worker, no messages at all.
// The server sends a piece back as soon as the whole of it is there.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <future>

#include "bench/hardware.h"
#include "bench/pairs.h"
#include "bench/transport/exchange.h"

namespace steelyard::bench {
namespace {

constexpr std::uint64_t chunk = 256 * 1024;  // bytes of one read or write
constexpr int patience_ms = 10000;

// A connected socket and how far it has come, both ways.
class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(socket_, F_SETFL, O_NONBLOCK);
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Bytes [sent, may_send) of the round's `out` go out, at most a chunk; whatever came is put into `in`.
  // False: hung up.
  bool pump(const std::byte* out, std::uint64_t may_send, std::byte* in, std::uint64_t round_bytes) {
    if (may_send > sent) {
      const auto n = send(socket_, out + sent, std::min(chunk, may_send - sent), MSG_NOSIGNAL);
      if (n > 0) sent += static_cast<std::uint64_t>(n);
    }
    if (received == round_bytes) return true;
    const auto n = recv(socket_, in + received, std::min(chunk, round_bytes - received), 0);
    if (n > 0) received += static_cast<std::uint64_t>(n);
    return n != 0;
  }
  [[nodiscard]] pollfd wants(std::uint64_t may_send, std::uint64_t round_bytes) const {
    const int out = may_send > sent ? POLLOUT : 0, in = received < round_bytes ? POLLIN : 0;
    return {socket_, static_cast<short>(in | out), 0};
  }

  std::uint64_t sent = 0, received = 0;  // of this round

 private:
  const int socket_;
};

std::uint64_t bytes_of(std::uint64_t floats) { return floats * sizeof(float); }

// One worker's round at the server: as echoed(), then forgotten when all of it is back.
struct Echo {
  Echo(int socket, const Exchange& exchange) : connection(socket), values(exchange.size()) {}

  [[nodiscard]] std::uint64_t may_send(const Exchange& exchange) const {
    const std::uint64_t unit = bytes_of(exchange.sum ? exchange.floats : exchange.size());
    return connection.received / unit * unit;
  }
  bool pump(const Exchange& exchange) {
    const std::uint64_t all = bytes_of(exchange.size());
    auto* bytes = reinterpret_cast<std::byte*>(values.data());
    const bool alive = connection.pump(bytes, may_send(exchange), bytes, all);
    if (connection.sent == all) connection.sent = connection.received = 0;
    return alive;
  }

  Connection connection;
  FloatBuffer values;
};

void serve(const Exchange& exchange, int listener) {
  pin(0);
  std::vector<std::unique_ptr<Echo>> echoes;
  for (unsigned worker = 0; worker < exchange.workers; ++worker) {
    echoes.push_back(std::make_unique<Echo>(accept(listener, nullptr, nullptr), exchange));
  }
  while (!echoes.empty()) {
    std::vector<pollfd> wanted;
    for (const auto& echo : echoes) {
      wanted.push_back(echo->connection.wants(echo->may_send(exchange), bytes_of(exchange.size())));
    }
    if (poll(wanted.data(), wanted.size(), patience_ms) <= 0) return;
    std::erase_if(echoes, [&](const auto& echo) { return !echo->pump(exchange); });
  }
}

class Caller final : public Party {
 public:
  Caller(const Exchange& exchange, const sockaddr_in& address)
      : exchange_(exchange), values_(pattern(exchange.size())), answers_(exchange.size()) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    expect(connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
           "raw TCP: cannot connect to ourselves");
    connection_ = std::make_unique<Connection>(socket);
  }

  void round() override {
    const std::uint64_t all = bytes_of(exchange_.size());
    connection_->sent = connection_->received = 0;
    while (connection_->received < all) {
      pollfd wanted = connection_->wants(all, all);
      expect(poll(&wanted, 1, patience_ms) > 0, "raw TCP: an answer never came");
      const auto* out = reinterpret_cast<const std::byte*>(values_->data());
      auto* in = reinterpret_cast<std::byte*>(answers_.data());
      expect(connection_->pump(out, all, in, all), "raw TCP: the other side hung up");
    }
  }
  void check() override {
    expect(std::memcmp(answers_.data(), values_->data(), bytes_of(exchange_.size())) == 0,
           "raw TCP: an answer has other bytes");
  }

 private:
  const Exchange exchange_;
  const std::shared_ptr<FloatBuffer> values_;
  FloatBuffer answers_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace

double raw_tcp_rounds(const Exchange& exchange, Duration duration) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  expect(bind(listener, reinterpret_cast<const sockaddr*>(&address), size) == 0 && listen(listener, 8) == 0 &&
             getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0,
         "raw TCP: cannot listen on 127.0.0.1");
  auto server = std::async(std::launch::async, [&] { serve(exchange, listener); });
  const double taken =
      time_rounds(exchange, duration, [&](unsigned) { return std::make_unique<Caller>(exchange, address); });
  server.get();
  close(listener);
  return taken;
}

}  // namespace steelyard::bench
