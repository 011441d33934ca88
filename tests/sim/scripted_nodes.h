// A world of small state machines that send scripted messages and record the messages that they receive.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/world.h"

namespace steelyard::sim {

inline constexpr NodeId scheduler = scheduler_node, server{Role::shard, 1}, ann{Role::worker, 2},
                        bob{Role::worker, 3};

inline Time at_ms(double ms) { return Time{std::chrono::seconds(1)} + from_seconds(ms / 1000); }

class ScriptedNode {
 public:
  struct Action {
    Time at;
    std::function<void(Outbox&)> run;
  };
  explicit ScriptedNode(std::vector<Action> actions = {}) : actions_(std::move(actions)) {}

  void step(Time now, const Envelope& in, Outbox&) {
    received.push_back(std::to_string(std::lround(1000 * seconds(now - at_ms(0)))) + ' ' + described(in));
  }
  void wake(Time now, Outbox& out) {
    for (; next_ < actions_.size() && actions_[next_].at <= now; ++next_) actions_[next_].run(out);
  }
  [[nodiscard]] Time deadline() const { return next_ < actions_.size() ? actions_[next_].at : Time::max(); }
  [[nodiscard]] static bool finished() { return false; }

  std::vector<std::string> received{};  // "12 ping 3 from worker-2"; times in ms

 private:
  static std::string described(const Envelope& in) {
    const std::string from = " from " + to_string(in.from);
    if (of_host(in.message)) return says<ToShard, Interrupt>(in.message) ? "interrupt" : "lost" + from;
    if (const auto* it = std::get_if<ToShard>(&in.message))
      return "ping " + std::to_string(std::get<Ping>(*it).term) + from;
    const auto& at_worker = std::get<ToWorker>(in.message);
    if (const auto* it = std::get_if<Pong>(&at_worker)) return "pong " + std::to_string(it->term) + from;
    return "computed " + std::to_string(std::get<Computed>(at_worker).report.piece.round);
  }

  std::vector<Action> actions_;
  std::size_t next_ = 0;
};

// Sends ping `number` to the server at that time.
inline ScriptedNode::Action ping(double ms, Term number) {
  return {at_ms(ms), [number](Outbox& out) { out.send<ToShard>(server, Ping{number}); }};
}
inline ScriptedNode::Action pong(double ms, Term number, NodeId to) {
  return {at_ms(ms), [=](Outbox& out) { out.send<ToWorker>(to, Pong{number}); }};
}
// Pings 1 to `count`, one per millisecond, the first at 1 ms.
inline std::vector<ScriptedNode::Action> pings(Term count) {
  std::vector<ScriptedNode::Action> actions;
  for (Term number = 1; number <= count; ++number)
    actions.push_back(ping(static_cast<double>(number), number));
  return actions;
}

// Ann and Bob are workers of one server; a message takes 10 ms.
class ScriptedWorld : ComputeModel {
 public:
  explicit ScriptedWorld(std::vector<Fault> faults = {}, std::uint64_t seed = 1, double lost_with_sender = 0)
      : world(Network({.latency_ms = 10}, 2, 1), *this, Faults(std::move(faults), seed), lost_with_sender) {}

  ScriptedNode& start(NodeId node, std::vector<ScriptedNode::Action> actions = {}) {
    return world.start<ScriptedNode>(node, std::move(actions));
  }
  void run() {
    while (world.step()) {
    }
  }
  void run_until(double ms) {
    while (world.now() < at_ms(ms) && world.step()) {
    }
  }

  World world;
  double before_ms = 0;  // the server's time before each message,
  double after_ms = 0;   // and once, after the next message or timer

 private:
  [[nodiscard]] double seconds_before(const Hosted& node, const Envelope&) override {
    return node.id == server ? before_ms / 1000 : 0;
  }
  [[nodiscard]] double seconds_after(const Hosted& node) override {
    return node.id == server ? std::exchange(after_ms, 0) / 1000 : 0;
  }
  [[nodiscard]] double seconds_for(NodeId, const Compute& order, Time) override {
    return 0.001 * static_cast<double>(order.piece.positions.size());
  }
  void finish(const Order& done, const Say& say) override {
    Report report;
    report.piece = done.compute.piece;
    say(Computed{report});
  }
};

}  // namespace steelyard::sim
