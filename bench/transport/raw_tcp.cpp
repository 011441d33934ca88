// The limit by the kernel: blocking sockets, 256 KB at a time, no messages at all. A worker writes from one
// thread and reads from another; for each worker the server has a thread that sends back what it read.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <semaphore>
#include <thread>

#include "bench/hardware.h"
#include "bench/pairs.h"
#include "bench/transport/exchange.h"

namespace steelyard::bench {
namespace {

constexpr std::size_t chunk = 256 * 1024;  // bytes of one read or write

// A connected socket, blocking; reads give up after ten seconds.
class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {
    const int on = 1;
    const timeval patience{10, 0};
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool write(const std::byte* from, std::size_t size) {
    while (size > 0) {
      const auto n = send(socket_, from, std::min(chunk, size), MSG_NOSIGNAL);
      if (n <= 0) return false;
      from += n;
      size -= static_cast<std::size_t>(n);
    }
    return true;
  }
  bool read(std::byte* to, std::size_t size) {
    while (size > 0) {
      const auto n = recv(socket_, to, std::min(chunk, size), MSG_WAITALL);
      if (n <= 0) return false;
      to += n;
      size -= static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  const int socket_;
};

std::size_t bytes_of(std::uint64_t floats) { return floats * sizeof(float); }

void echo(const Exchange& exchange, int socket) {
  pin(0);
  Connection connection(socket);
  const std::size_t unit = exchange.sum ? std::min(chunk, bytes_of(exchange.floats)) : bytes_of(exchange.size());
  std::vector<std::byte> buffer(unit);
  while (connection.read(buffer.data(), unit) && connection.write(buffer.data(), unit)) {
  }
}

class Caller final : public Party {
 public:
  Caller(const Exchange& exchange, const sockaddr_in& address)
      : exchange_(exchange), values_(pattern(exchange.size())), answers_(exchange.size()) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    connection_ = std::make_unique<Connection>(socket);
    expect(connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
           "raw TCP: cannot connect to ourselves");
    if (exchange.pieces > 1) writer_ = std::thread([this] { write_rounds(); });
  }
  ~Caller() override {
    leaving_ = true;
    begin_.release();
    if (writer_.joinable()) writer_.join();
  }

  void round() override {
    if (writer_.joinable()) {
      begin_.release();
    } else {
      write_round();
    }
    expect(connection_->read(reinterpret_cast<std::byte*>(answers_.data()), bytes_of(exchange_.size())),
           "raw TCP: an answer never came");
  }
  void check() override {
    expect(std::memcmp(answers_.data(), values_->data(), bytes_of(exchange_.size())) == 0,
           "raw TCP: an answer has other bytes");
  }

 private:
  void write_round() {
    connection_->write(reinterpret_cast<const std::byte*>(values_->data()), bytes_of(exchange_.size()));
  }
  void write_rounds() {
    for (;;) {
      begin_.acquire();
      if (leaving_) return;
      write_round();
    }
  }

  const Exchange exchange_;
  const std::shared_ptr<FloatBuffer> values_;
  FloatBuffer answers_;
  std::unique_ptr<Connection> connection_;
  std::counting_semaphore<> begin_{0};
  std::atomic<bool> leaving_{false};
  std::thread writer_;  // a single small piece is written without it
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
    std::vector<std::jthread> echoes;
    for (unsigned worker = 0; worker < exchange.workers; ++worker) {
      echoes.emplace_back(echo, exchange, accept(listener, nullptr, nullptr));
    }
  });
  const double taken =
      time_rounds(exchange, duration, [&](unsigned) { return std::make_unique<Caller>(exchange, address); });
  door.get();
  close(listener);
  return taken;
}

}  // namespace steelyard::bench
