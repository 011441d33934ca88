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

#include <optional>
#include <vector>

#include "core/random.h"
#include "protocol/machine.h"

namespace steelyard::sim {

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
