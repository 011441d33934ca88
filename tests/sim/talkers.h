// A world of small machines that say what they are told to, and keep what they hear.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/world.h"

namespace steelyard::sim {

inline constexpr NodeId scheduler = scheduler_node, server{Role::shard, 1}, ann{Role::worker, 2},
                        bob{Role::worker, 3};

inline Time at_ms(double ms) { return Time{std::chrono::seconds(1)} + from_seconds(ms / 1000); }

class Talker {
 public:
  struct Line {
    Time at;
    std::function<void(Outbox&)> say;
  };
  explicit Talker(std::vector<Line> lines = {}) : lines_(std::move(lines)) {}

  void step(Time now, const Envelope& in, Outbox&) {
    heard.push_back(std::to_string(std::lround(1000 * seconds(now - at_ms(0)))) + ' ' + words(in));
  }
  void wake(Time now, Outbox& out) {
    for (; next_ < lines_.size() && lines_[next_].at <= now; ++next_) lines_[next_].say(out);
  }
  [[nodiscard]] Time deadline() const { return next_ < lines_.size() ? lines_[next_].at : Time::max(); }
  [[nodiscard]] static bool finished() { return false; }

  std::vector<std::string> heard{};  // "12 ping 3 from worker-2"; times in ms

 private:
  static std::string words(const Envelope& in) {
    const std::string from = " from " + to_string(in.from);
    if (of_host(in.message)) return says<ToShard, Interrupt>(in.message) ? "interrupt" : "lost" + from;
    if (const auto* it = std::get_if<ToShard>(&in.message))
      return "ping " + std::to_string(std::get<Ping>(*it).term) + from;
    const auto& heard_by_worker = std::get<ToWorker>(in.message);
    if (const auto* it = std::get_if<Pong>(&heard_by_worker))
      return "pong " + std::to_string(it->term) + from;
    return "computed " + std::to_string(std::get<Computed>(heard_by_worker).report.piece.round);
  }

  std::vector<Line> lines_;
  std::size_t next_ = 0;
};

// At that time, ping number `number` to the server.
inline Talker::Line ping(double ms, Term number) {
  return {at_ms(ms), [number](Outbox& out) { out.send<ToShard>(server, Ping{number}); }};
}
inline Talker::Line pong(double ms, Term number, NodeId to) {
  return {at_ms(ms), [=](Outbox& out) { out.send<ToWorker>(to, Pong{number}); }};
}
// Pings 1, 2 ... `count`, one a millisecond from 1 on.
inline std::vector<Talker::Line> pings(Term count) {
  std::vector<Talker::Line> lines;
  for (Term number = 1; number <= count; ++number) lines.push_back(ping(static_cast<double>(number), number));
  return lines;
}

// Ann and Bob are workers of one server; a word takes ten milliseconds.
class Talk : ComputeModel {
 public:
  explicit Talk(std::vector<Fault> faults = {}, std::uint64_t seed = 1, double lost_with_sender = 0)
      : world(Network({.latency_ms = 10}, 2, 1), *this, Faults(std::move(faults), seed), lost_with_sender) {}

  Talker& start(NodeId node, std::vector<Talker::Line> lines = {}) {
    return world.start<Talker>(node, std::move(lines));
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

 private:
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
