// The limit of ZeroMQ itself: DEALER to ROUTER over tcp with default settings, zero-copy send in both
// directions, and only the routing identity besides the payload. As in a parameter server, the answers are
// not the received messages: the server releases those and sends from its own buffer.
#include <zmq.hpp>

#include <cstring>
#include <future>

#include "bench/hardware.h"
#include "bench/pairs.h"
#include "bench/transport/exchange.h"

namespace steelyard::bench {
namespace {

constexpr int zmq_patience_ms = 10000;

void limit(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::sndhwm, 0);
  socket.set(zmq::sockopt::rcvhwm, 0);
  socket.set(zmq::sockopt::rcvtimeo, zmq_patience_ms);
}

zmq::message_t next(zmq::socket_t& socket) {
  zmq::message_t frame;
  expect(socket.recv(frame).has_value(), "bare ZeroMQ: an answer did not arrive");
  return frame;
}

void keep(void*, void*) {}  // for messages in a buffer that outlives them

class Server {
 public:
  explicit Server(const Exchange& exchange)
      : exchange_(exchange), values_(pattern(exchange.size())), router_(context_, zmq::socket_type::router) {
    limit(router_);
    router_.bind("tcp://127.0.0.1:*");
  }
  [[nodiscard]] std::string endpoint() const { return router_.get(zmq::sockopt::last_endpoint); }

  // Answers each message, or all messages of a round after its last one, until every worker has sent an empty
  // message.
  void serve() {
    std::uint64_t seen = 0;
    for (unsigned leaving = 0; leaving < exchange_.workers;) {
      zmq::message_t from = next(router_);
      const zmq::message_t payload = next(router_);
      if (payload.empty()) {
        ++leaving;
        continue;
      }
      if (seen++ < exchange_.pieces) check(payload, seen - 1);
      held_.push_back(std::move(from));
      if (exchange_.sum || held_.size() == exchange_.pieces) answer();
    }
  }

 private:
  // With one worker, the messages of the first round arrive in order.
  void check(const zmq::message_t& payload, std::uint64_t piece) const {
    const bool same =
        payload.size() == exchange_.floats * sizeof(float) &&
        (exchange_.workers > 1 ||
         std::memcmp(payload.data(), values_->data() + piece * exchange_.floats, payload.size()) == 0);
    expect(same, "bare ZeroMQ: a push arrived with other bytes");
  }
  void answer() {
    for (zmq::message_t& to : held_) {
      zmq::message_t values(values_->data() + piece_ * exchange_.floats, exchange_.floats * sizeof(float),
                            keep);
      router_.send(to, zmq::send_flags::sndmore);
      router_.send(values, zmq::send_flags::none);
      piece_ = (piece_ + 1) % exchange_.pieces;
    }
    held_.clear();
  }

  const Exchange exchange_;
  const std::shared_ptr<FloatBuffer> values_;  // the messages refer to it, so it must be destroyed last
  zmq::context_t context_{1};
  zmq::socket_t router_;
  std::vector<zmq::message_t> held_;  // routing identities of unanswered messages
  std::uint64_t piece_ = 0;           // index of the next piece to send
};

void serve(const Exchange& exchange, std::promise<std::string>& endpoint) {
  pin(0);
  Server server(exchange);
  endpoint.set_value(server.endpoint());
  server.serve();
}

class Dealer final : public Party {
 public:
  Dealer(const Exchange& exchange, const std::string& endpoint)
      : exchange_(exchange),
        values_(pattern(exchange.size())),
        socket_(context_, zmq::socket_type::dealer),
        answers_(exchange.pieces) {
    limit(socket_);
    socket_.connect(endpoint);
  }
  ~Dealer() override {
    socket_.set(zmq::sockopt::linger, zmq_patience_ms);
    socket_.send(zmq::message_t(), zmq::send_flags::none);
  }

  void round() override {
    for (std::uint64_t piece = 0; piece < exchange_.pieces; ++piece) {
      zmq::message_t message(values_->data() + piece * exchange_.floats, bytes(), keep);
      socket_.send(message, zmq::send_flags::none);
    }
    for (zmq::message_t& answer : answers_) {
      answer = next(socket_);
      expect(answer.size() == bytes(), "bare ZeroMQ: an answer has another size");
    }
  }

  void check() override {
    if (exchange_.workers > 1) return;  // the pieces are distributed over the workers
    for (std::uint64_t piece = 0; piece < exchange_.pieces; ++piece) {
      expect(std::memcmp(answers_[piece].data(), values_->data() + piece * exchange_.floats, bytes()) == 0,
             "bare ZeroMQ: an answer has other bytes");
    }
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return exchange_.floats * sizeof(float); }

  const Exchange exchange_;
  const std::shared_ptr<FloatBuffer> values_;  // the messages refer to it, so it must be destroyed last
  zmq::context_t context_{1};
  zmq::socket_t socket_;
  std::vector<zmq::message_t> answers_;
};

}  // namespace

double bare_zmq_rounds(const Exchange& exchange, Duration duration) {
  std::promise<std::string> bound;
  const std::shared_future<std::string> endpoint = bound.get_future().share();
  auto server = std::async(std::launch::async, [&] { serve(exchange, bound); });
  const double taken = time_rounds(
      exchange, duration, [&](unsigned) { return std::make_unique<Dealer>(exchange, endpoint.get()); });
  server.get();
  return taken;
}

}  // namespace steelyard::bench
