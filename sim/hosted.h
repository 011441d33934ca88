// A machine in a world, whatever it is, and what the world keeps about it.
#pragma once

#include <utility>
#include <vector>

#include "protocol/machine.h"

namespace steelyard::sim {

struct Hosted {
  explicit Hosted(NodeId its_id) : id(its_id) {}
  virtual ~Hosted() = default;
  virtual void step(Time now, const Envelope& in, Outbox& out) = 0;
  virtual void wake(Time now, Outbox& out) = 0;
  [[nodiscard]] virtual Time deadline() const = 0;
  [[nodiscard]] virtual bool finished() const = 0;

  struct Computation {
    std::uint64_t number = 0;
    Round round = 0;
    PieceId piece = 0;
    Position end = 0;  // of the piece; a cut moves it
  };

  const NodeId id;
  Time armed = Time::max();            // the earliest timer that will wake it
  Time paused_until{};                 // the origin: it is not paused
  std::vector<Envelope> waiting{};     // arrived while it was paused
  std::vector<Computation> computing;  // ordered, and not given up
};

template <Machine M>
struct HostedMachine final : Hosted {
  template <class... Args>
  explicit HostedMachine(NodeId its_id, Args&&... args)
      : Hosted(its_id), machine(std::forward<Args>(args)...) {}
  void step(Time now, const Envelope& in, Outbox& out) override { machine.step(now, in, out); }
  void wake(Time now, Outbox& out) override { machine.wake(now, out); }
  [[nodiscard]] Time deadline() const override { return machine.deadline(); }
  [[nodiscard]] bool finished() const override { return machine.finished(); }
  M machine;
};

// The machine itself; the caller knows its type by the node's role.
template <Machine M>
const M& machine_of(const Hosted& node) {
  return static_cast<const HostedMachine<M>&>(node).machine;
}

}  // namespace steelyard::sim
