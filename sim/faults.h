// Faults: what goes wrong in a world, as data.
//
// A fault has an effect, and says which messages it strikes. Links promise order and at most once for each
// pair of nodes, and nothing vanishes without its node or its connection: `delay`, `hold`, `cut`, `pause` and
// `kill` keep that. `lose` and `repeat` break it; the protocol answers for most messages all the same
// (protocol/messages.h says who says them again).
//
// Partitions are faults too: from one side, to the other, in a window of time. Answers of compute nodes and
// what hosts say never leave a machine: of those only `pause` and `kill` take notice.
//
// Deterministic: what happens follows from the faults, the seed, and the messages in their order.
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

// What disturbs a worker, and when: the [[event]] of a scenario.
//
// An event has an effect and a shape. The shape says how strong the effect is in each round, from 0 (not
// there) to 1 (all of it); the effect says what that does to the time of a batch:
//
//   t(b) = (p(b) scale / cpu + add) noise      p: the worker's own polynomial
//
// Rounds count from 0, as in the records of a run; `to` is the first round that is free of it again. An
// event that goes by the clock counts seconds from the beginning of the first round in their place; what
// holds for a batch, or for the exchange of a round, is how strong it is when that begins.
enum class Shape : std::uint8_t {
  step,         // all of it, from `from` to `to`
  ramp,         // grows evenly from `from` to `to`, and then stays
  periodic,     // all of it in the first `length` rounds of every `period`
  bursty,       // comes and goes; gaps and lengths are random (geometric, at least 1) with these means
  random_walk,  // no strength: `scale` is a walk, multiplied by exp(deviation x normal) every round
};

inline const std::vector<std::string>& shape_names() {
  static const std::vector<std::string> names{"step", "ramp", "periodic", "bursty", "random_walk"};
  return names;
}

struct Event {
  std::optional<std::size_t> worker;  // nobody named: everybody, each with random draws of its own
  Round from = 0, to = UINT64_MAX;
  bool by_clock = false;  // the next two count, and not the two before
  double from_s = 0, to_s = std::numeric_limits<double>::infinity();
  Shape shape = Shape::step;

  // Effects; several together are allowed.
  double add_ms = 0;   // to every batch
  double scale = 1;    // times the worker's own time
  double cpu = 1;      // share left by a co-tenant; workers of kind "cpu" see and report it
  double memory = 1;   // share left by a co-tenant; is reported, and alone changes no time
  double network = 1;  // times the worker's exchange
  bool kill =
      false;  // dies as soon as round `from` has begun, and comes back for round `to` if that is given
  bool join = false;        // is not there before round `from`
  bool cut = false;         // its connections break once, as round `from` begins
  bool unforeseen = false;  // counts as noise: the oracle does not know of it

  // Of the shapes.
  std::uint64_t period = 0, length = 0;  // periodic, in rounds
  double period_s = 0, length_s = 0;     // periodic, by the clock
  double mean_gap = 0, mean_length = 0;  // bursty, in rounds
  double deviation = 0;                  // random walk
  double lowest = 0.25, highest = 4;     // random walk: its bounds
  std::optional<std::uint64_t> draws{};  // what random shapes are drawn from; nothing: scenario and place
};

// Whether it is one of these: says<ToShard, Push, Pull>(message).
template <class Receiver, class... Said>
bool says(const Message& message) {
  const auto* received = std::get_if<Receiver>(&message);
  return received != nullptr && (std::holds_alternative<Said>(*received) || ...);
}

// What a host tells its own machine, and no other node has said: a connection is gone, the process is to end.
bool of_host(const Message& message);

// One end of a message: any node, any of a role, or one.
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
    delay,   // it arrives later, by `least` to `most`; whatever its sender says behind it too
    hold,    // it arrives when the window is over: a partition that loses nothing
    lose,    // it does not arrive, and nobody is told
    repeat,  // it comes once more, behind what its sender has said meanwhile
    cut,     // it is lost with its connection, and all that is under way there; both ends are told
    pause,   // `node` stands still from here on, for `least` to `most`: what comes meanwhile waits
    kill,    // `node` dies before this arrives
  };
  Effect effect = Effect::delay;

  // Messages that it strikes: all of this is so. `delay` and `hold` look when a message is sent, the others
  // when it arrives.
  End from{}, to{};
  bool (*kind)(const Message&) = nullptr;       // says<...>; null: any
  Time begin{}, end = Time::max();              // in [begin, end)
  std::uint64_t first = 0, count = UINT64_MAX;  // of these the first-th, from 0, and so many
  double chance = 1;                            // each of those

  Duration least{}, most{};
  std::optional<NodeId> node{};  // nobody named: whoever would hear it
};

// The faults of one world, and how far they are.
class Faults {
 public:
  Faults() : Faults({}, 0) {}
  Faults(std::vector<Fault> faults, std::uint64_t seed);

  [[nodiscard]] bool empty() const { return faults_.empty(); }
  // By how much a message that is sent now is late.
  Duration delay(const Envelope& envelope, Time now);
  // What happens to one that arrives now, in the order of the faults.
  std::vector<const Fault*> strike(const Envelope& envelope, Time now);
  Duration draw(const Fault& fault);  // between `least` and `most`
  bool happens(double chance) { return random_.uniform() < chance; }

 private:
  [[nodiscard]] bool strikes(std::size_t number, const Envelope& envelope, Time now);

  std::vector<Fault> faults_;
  std::vector<std::uint64_t> seen_;  // by fault: messages that it could strike
  Random random_;
};

}  // namespace steelyard::sim
