// The limit by ZeroMQ itself: DEALER to ROUTER over tcp with the library's own settings, zero-copy send both
// ways, and nothing around the payload but the routing identity. The server sends back what came in.
#include <zmq.hpp>

#include <cstring>
#include <future>
#include <utility>

#include "bench/hardware.h"
#include "bench/pairs.h"
#include "bench/transport/exchange.h"

namespace steelyard::bench {
namespace {

constexpr int patience_ms = 10000;

void limit(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::sndhwm, 0);
  socket.set(zmq::sockopt::rcvhwm, 0);
  socket.set(zmq::sockopt::rcvtimeo, patience_ms);
}

zmq::message_t next(zmq::socket_t& socket) {
  zmq::message_t frame;
  expect(socket.recv(frame).has_value(), "bare ZeroMQ: an answer never came");
  return frame;
}

// Answers each message, or all of a round when its last one has come, until every worker has said goodbye
// with an empty message.
void serve(const Exchange& exchange, std::promise<std::string>& endpoint) {
  pin(0);
  zmq::context_t context(1);
  zmq::socket_t router(context, zmq::socket_type::router);
  limit(router);
  router.bind("tcp://127.0.0.1:*");
  endpoint.set_value(router.get(zmq::sockopt::last_endpoint));
  std::vector<std::pair<zmq::message_t, zmq::message_t>> held;
  for (unsigned leaving = 0; leaving < exchange.workers;) {
    zmq::message_t from = next(router);
    zmq::message_t payload = next(router);
    if (payload.size() == 0) {
      ++leaving;
      continue;
    }
    held.emplace_back(std::move(from), std::move(payload));
    if (!exchange.sum && held.size() < exchange.pieces) continue;
    for (auto& [to, answer] : held) {
      router.send(to, zmq::send_flags::sndmore);
      router.send(answer, zmq::send_flags::none);
    }
    held.clear();
  }
}

class Dealer final : public Party {
 public:
  Dealer(const Exchange& exchange, const std::string& endpoint)
      : exchange_(exchange),
        socket_(context_, zmq::socket_type::dealer),
        values_(pattern(exchange.size())),
        answers_(exchange.pieces) {
    limit(socket_);
    socket_.connect(endpoint);
  }
  ~Dealer() override {
    socket_.set(zmq::sockopt::linger, patience_ms);
    socket_.send(zmq::message_t(), zmq::send_flags::none);
  }

  void round() override {
    const auto keep = [](void*, void*) {};  // the values outlive the context
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
    for (std::uint64_t piece = 0; piece < exchange_.pieces; ++piece) {
      expect(std::memcmp(answers_[piece].data(), values_->data() + piece * exchange_.floats, bytes()) == 0,
             "bare ZeroMQ: an answer has other bytes");
    }
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return exchange_.floats * sizeof(float); }

  const Exchange exchange_;
  zmq::context_t context_{1};
  zmq::socket_t socket_;
  const std::shared_ptr<FloatBuffer> values_;
  std::vector<zmq::message_t> answers_;
};

}  // namespace

double bare_zmq_rounds(const Exchange& exchange, Duration duration) {
  std::promise<std::string> bound;
  const std::shared_future<std::string> endpoint = bound.get_future().share();
  auto server = std::async(std::launch::async, [&] { serve(exchange, bound); });
  const double taken =
      time_rounds(exchange, duration, [&](unsigned) { return std::make_unique<Dealer>(exchange, endpoint.get()); });
  server.get();
  return taken;
}

}  // namespace steelyard::bench
