// Attacks a running job, with a key or without one (tests/attacks):
//
//   attacker numbers ENDPOINT KEYS   joins as a worker; reports NaN and infinity as its CPU share and memory
//   attacker hellos ENDPOINT KEYS    requests to join without a name, repeatedly
//   attacker parts ENDPOINT KEYS     sends an endless message, as a worker
//   attacker door ENDPOINT           sends 60 handshakes of 15 MiB each, repeatedly
//
// KEYS has a key for the worker `eve`. All but `numbers` run until they are killed.
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

#include "app/processes/endpoint.h"
#include "app/processes/processes.h"
#include "core/error.h"
#include "protocol/keys.h"
#include "tests/transport/raw_zmtp.h"
#include "transport/security/curve.h"
#include "transport/zmq.h"
#include "transport/zmq_socket.h"

namespace steelyard {
namespace {

// Limits the load, since an attacker on this machine competes with the job for CPUs and memory bandwidth.
constexpr auto pause = milliseconds(20);

void send(Link& link, NodeId self, ToScheduler message) {
  link.send({self, scheduler_node, Message(std::move(message))});
}

// The first report is valid, so that the policy has an estimate that the next ones could spoil.
Report report_of(const Start& start, int number) {
  Report report{.term = start.term, .piece = start.piece, .seconds = 0.01, .cpu = 0.9, .memory = 1000};
  report.loss = static_cast<double>(start.piece.positions.size());
  if (number > 0) report.cpu = std::nan("");
  if (number > 1) report.memory = std::numeric_limits<double>::infinity();
  return report;
}

// Joins, reports and exits, since it has no gradient to push.
bool report_once(ZmqContext& context, const std::string& endpoint, int number) {
  const NodeId self = new_node(Role::worker);
  ZmqLink link(context, self);
  link.connect(scheduler_node, endpoint);
  bool welcome = false;
  for (const Time end = steady_now() + std::chrono::seconds(20); steady_now() < end;) {
    if (!welcome) send(link, self, Hello{0, "eve", {}});
    const auto in = link.receive(steady_now() + milliseconds(200));
    const auto* message = in ? std::get_if<ToWorker>(&in->message) : nullptr;
    if (message == nullptr) continue;
    welcome |= std::holds_alternative<Welcome>(*message);
    if (std::holds_alternative<Roster>(*message)) send(link, self, Ready{});
    if (const auto* start = std::get_if<Start>(message)) {
      send(link, self, report_of(*start, number));
      return true;
    }
  }
  return false;
}

void numbers(ZmqContext& context, const std::string& endpoint) {
  int reports = 0;
  for (int number = 0; number < 3; ++number) {
    reports += report_once(context, endpoint, number) ? 1 : 0;
    std::this_thread::sleep_for(
        std::chrono::seconds(5));  // its reported positions were never pushed, so others recompute them
  }
  std::printf("%d reports\n", reports);
}

void hellos(ZmqContext& context, const std::string& endpoint) {
  const NodeId self = new_node(Role::worker);
  ZmqLink link(context, self);
  link.connect(scheduler_node, endpoint);
  while (true) {
    for (int i = 0; i < 100; ++i) send(link, self, Hello{0, "", {}});
    while (link.receive(steady_now())) {
    }
    std::this_thread::sleep_for(pause);
  }
}

void parts(ZmqContext& context, const std::string& endpoint) {
  const NodeId self = new_node(Role::worker);
  const std::string key = context.trust()->scheduler_key();
  const std::vector<std::byte> part(3 << 20);
  for (std::uint64_t number = 0;; ++number) {
    zmq::socket_t socket(*static_cast<zmq::context_t*>(context.handle()), zmq::socket_type::dealer);
    const RoutingId id = routing_id(self, number, scheduler_node);
    socket.set(zmq::sockopt::routing_id, zmq::const_buffer(id.data(), id.size()));
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::sndtimeo, 1000);
    make_caller(socket, context.trust()->own(), key);
    socket.connect(endpoint);
    bool taken = true;
    for (int i = 0; i < 4 && taken; ++i)
      taken = socket.send(zmq::const_buffer(part.data(), part.size()), zmq::send_flags::sndmore).has_value();
    std::this_thread::sleep_for(pause);
  }
}

// The greeting names CURVE; the command is longer than any handshake.
void door(const std::string& endpoint) {
  const std::string greeting = test::RawZmtp::greeting("CURVE");
  const std::string hello = test::RawZmtp::head(15 << 20, 6) + std::string(1 << 20, 'S');
  while (true) {
    std::vector<test::RawZmtp> connections;
    for (int i = 0; i < 60; ++i) connections.emplace_back(endpoint);
    for (test::RawZmtp& it : connections) (void)it.send(greeting + hello);
    std::this_thread::sleep_for(pause);
  }
}

int attack(std::string_view how, const std::string& endpoint, const std::string& keys) {
  if (how == "door") door(endpoint);
  ZmqContext context(1, trust_for(keys, KeyRole::worker, "eve", false));
  if (how == "hellos") hellos(context, endpoint);
  if (how == "parts") parts(context, endpoint);
  if (how == "numbers") return numbers(context, endpoint), 0;
  return 2;
}

}  // namespace
}  // namespace steelyard

int main(int count, char** words) try {
  if (count < 3) return 2;
  return steelyard::attack(words[1], words[2], count > 3 ? words[3] : "");
} catch (const steelyard::Failure& failure) {
  std::fprintf(stderr, "attacker: %s\n", failure.what());
  return static_cast<int>(failure.code());
}
