// The rate of a simple program over kernel sockets: non-blocking sockets, poll(), 256 KB at a time, one
// thread per side, no messages. This is not a hard limit.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <utility>

#include "bench/hardware.h"
#include "bench/pairs.h"
#include "bench/transport/exchange.h"

namespace steelyard::bench {
namespace {

constexpr std::size_t chunk = std::size_t{256} * 1024;  // bytes per read or write
constexpr int patience_ms = 10000;

// A connected socket and the progress of a round on it, in both directions.
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

  void begin() { sent_ = received_ = 0; }
  [[nodiscard]] std::size_t sent() const { return sent_; }
  [[nodiscard]] std::size_t received() const { return received_; }

  // Reads available bytes of the round and writes its bytes up to `may_send`. Sleeps if neither is possible.
  // False: the peer has closed the connection, or there was no progress for ten seconds.
  bool pump(const std::byte* out, std::size_t may_send, std::byte* in, std::size_t all) {
    const auto got =
        received_ < all ? recv(socket_, in + received_, std::min(chunk, all - received_), 0) : -1;
    if (got == 0) return false;
    const auto put =
        sent_ < may_send ? send(socket_, out + sent_, std::min(chunk, may_send - sent_), MSG_NOSIGNAL) : -1;
    if (got > 0) received_ += static_cast<std::size_t>(got);
    if (put > 0) sent_ += static_cast<std::size_t>(put);
    if (got > 0 || put > 0) return true;
    const int events = (received_ < all ? POLLIN : 0) | (sent_ < may_send ? POLLOUT : 0);
    pollfd wanted{socket_, static_cast<short>(events), 0};
    return poll(&wanted, 1, patience_ms) > 0;
  }

 private:
  const int socket_;
  std::size_t sent_ = 0, received_ = 0;
};

std::size_t bytes_of(std::uint64_t floats) { return floats * sizeof(float); }

// Answers each piece, or the round, once it has arrived completely, from its own buffer.
void serve(const Exchange& exchange, int socket) {
  pin(0);
  Connection connection(socket);
  const std::size_t all = bytes_of(exchange.size());
  const std::size_t unit = exchange.sum ? bytes_of(exchange.floats) : all;
  const std::shared_ptr<FloatBuffer> answers = pattern(exchange.size());
  const auto* out = reinterpret_cast<const std::byte*>(answers->data());
  std::vector<std::byte> in(all);
  bool checked = false;
  while (connection.pump(out, connection.received() / unit * unit, in.data(), all)) {
    if (connection.sent() < all) continue;
    expect(std::exchange(checked, true) || std::memcmp(in.data(), out, all) == 0,
           "raw TCP: a push arrived with other bytes");
    connection.begin();
  }
}

class Caller final : public Party {
 public:
  Caller(const Exchange& exchange, const sockaddr_in& address)
      : exchange_(exchange), values_(pattern(exchange.size())), answers_(exchange.size()) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    expect(connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
           "raw TCP: cannot connect to 127.0.0.1");
    connection_ = std::make_unique<Connection>(socket);
  }

  void round() override {
    const std::size_t all = bytes_of(exchange_.size());
    connection_->begin();
    while (connection_->received() < all) {
      expect(connection_->pump(reinterpret_cast<const std::byte*>(values_->data()), all,
                               reinterpret_cast<std::byte*>(answers_.data()), all),
             "raw TCP: an answer did not arrive");
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
  auto door = std::async(std::launch::async, [&] {
    std::vector<std::future<void>> servers;
    for (unsigned worker = 0; worker < exchange.workers; ++worker) {
      const int socket = accept(listener, nullptr, nullptr);
      servers.push_back(std::async(std::launch::async, serve, exchange, socket));
    }
    for (auto& server : servers) server.get();
  });
  const double taken =
      time_rounds(exchange, duration, [&](unsigned) { return std::make_unique<Caller>(exchange, address); });
  door.get();
  close(listener);
  return taken;
}

}  // namespace steelyard::bench
