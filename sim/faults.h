// Faults of a simulated world, as data.
//
// A fault has an effect and a condition for the messages that it affects. Links guarantee order and
// at-most-once delivery for each pair of nodes, and lose messages only with a node or a connection: `delay`,
// `hold`, `cut`, `pause` and `kill` keep these guarantees. `lose` and `repeat` violate them; the protocol
// recovers most messages even so (protocol/messages.h names the sender of each resend).
//
// Partitions are faults too: from one side to the other, in a window of time. Answers of compute nodes and
// messages of hosts never leave a machine: only `pause` and `kill` affect them.
//
// Deterministic: everything follows from the faults, the seed, and the messages in their order.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/random.h"
#include "protocol/machine.h"
#include "protocol/messages.h"

namespace steelyard::sim {

// Event: a disturbance of a worker over time: the [[event]] of a scenario.
//
// An event has an effect and a shape. The shape gives the strength of the effect in each round, from 0 (none)
// to 1 (full); the effect changes the time of a batch:
//
//   t(b) = (p(b) scale / cpu + add) noise      p: the worker's own polynomial
//
// Rounds count from 0, as in the records of a run; `to` is the first round without the effect. Events by the
// clock use seconds from the beginning of the first round instead. The strength at the beginning of a batch,
// or of a round's exchange, holds for all of it; but bursty events of more than one round begin and end
// inside a round, after a random part of the worker's work in it.
enum class Shape : std::uint8_t {
  step,         // full strength from `from` to `to`
  ramp,         // grows linearly from `from` to `to`, and then stays
  periodic,     // full strength in the first `length` rounds of every `period`
  bursty,       // alternates; gaps and lengths are random (geometric, at least 1) with these means
  random_walk,  // no strength: `scale` is a walk, multiplied by exp(deviation x normal) every round
};

inline const std::vector<std::string>& shape_names() {
  static const std::vector<std::string> names{"step", "ramp", "periodic", "bursty", "random_walk"};
  return names;
}

struct Event {
  std::optional<std::size_t> worker;  // empty: all workers, each with its own random draws
  Round from = 0, to = UINT64_MAX;
  bool by_clock = false;  // from_s and to_s are used instead of from and to
  double from_s = 0, to_s = std::numeric_limits<double>::infinity();
  Shape shape = Shape::step;

  // Effects; several together are allowed.
  double add_ms = 0;        // to every batch
  double scale = 1;         // factor on the worker's own time
  double cpu = 1;           // share left by a co-tenant; workers of kind "cpu" experience and report it
  double memory = 1;        // share left by a co-tenant; only reported, changes no time
  double network = 1;       // factor on the worker's exchange time
  bool kill = false;        // killed as soon as round `from` has begun; returns for round `to`, if given
  bool join = false;        // absent before round `from`
  bool cut = false;         // its connections break once, when round `from` begins
  bool unforeseen = false;  // counts as noise: unknown to the oracle

  // Parameters of the shapes.
  std::uint64_t period = 0, length = 0;  // periodic, in rounds
  double period_s = 0, length_s = 0;     // periodic, by the clock
  double mean_gap = 0, mean_length = 0;  // bursty, in rounds
  double deviation = 0;                  // random walk
  double lowest = 0.25, highest = 4;     // random walk: its bounds
  std::optional<std::uint64_t> draws{};  // seed of random shapes; empty: derived from scenario and position
};

// Whether the message is one of these: says<ToShard, Push, Pull>(message).
template <class Receiver, class... Said>
bool says(const Message& message) {
  const auto* received = std::get_if<Receiver>(&message);
  return received != nullptr && (std::holds_alternative<Said>(*received) || ...);
}

// A message of a host to its own machine, not sent by another node: a lost connection, a request to exit.
bool of_host(const Message& message);

// One end of a message: any node, any node of a role, or one node.
struct End {
  End() = default;
  End(Role its_role) : role(its_role) {}                      // NOLINT: a role is an end
  End(NodeId node) : role(node.role), number(node.number) {}  // NOLINT: a node is an end
  [[nodiscard]] bool is(NodeId node) const {
    return (!role || *role == node.role) && (!number || *number == node.number);
  }

  std::optional<Role> role{};
  std::optional<std::uint64_t> number{};
};

struct Fault {
  enum class Effect : std::uint8_t {
    delay,   // arrives later, by `least` to `most`; delays what its sender sends after it, too
    hold,    // arrives when the window is over: a partition without losses
    lose,    // does not arrive, without any notification
    repeat,  // arrives again, after messages that its sender has sent since
    cut,     // is lost with its connection and all messages on it; both ends are notified
    pause,   // `node` stops for `least` to `most`: arriving messages wait
    kill,    // `node` is killed before this arrives
  };
  Effect effect = Effect::delay;

  // Condition: messages for which all of this holds. `delay` and `hold` check it when a message is sent, the
  // others when it arrives.
  End from{}, to{};
  bool (*kind)(const Message&) = nullptr;       // says<...>; null: any
  Time begin{}, end = Time::max();              // in [begin, end)
  std::uint64_t first = 0, count = UINT64_MAX;  // of these, skip `first`, then take at most `count`
  double chance = 1;                            // probability for each message taken

  Duration least{}, most{};
  std::optional<NodeId> node{};  // empty: the receiver
};

// The faults of one world, and their progress.
class Faults {
 public:
  Faults() : Faults({}, 0) {}
  Faults(std::vector<Fault> faults, std::uint64_t seed);

  [[nodiscard]] bool empty() const { return faults_.empty(); }
  // The delay of a message sent now.
  Duration delay(const Envelope& envelope, Time now);
  // The effects on a message that arrives now, in the order of the faults.
  std::vector<const Fault*> strike(const Envelope& envelope, Time now);
  Duration draw(const Fault& fault);  // between `least` and `most`
  bool happens(double chance) { return random_.uniform() < chance; }

 private:
  [[nodiscard]] bool strikes(std::size_t number, const Envelope& envelope, Time now);

  std::vector<Fault> faults_;
  std::vector<std::uint64_t> seen_;  // by fault: number of messages that met its condition
  Random random_;
};

}  // namespace steelyard::sim
