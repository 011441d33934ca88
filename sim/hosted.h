// A machine in a world, whatever it is, and what the world keeps about it.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "protocol/machine.h"
#include "protocol/messages.h"

namespace steelyard::sim {

// What computes for all workers of a world: how long an order takes, and what comes back then.
class ComputeModel {
 public:
  struct Order {
    NodeId worker;
    Compute compute;  // with parameters
    Time begun;
    double seconds = 0;  // that it takes
  };
  using Say = std::function<void(ToWorker)>;

  virtual ~ComputeModel() = default;
  [[nodiscard]] virtual double seconds_for(NodeId worker, const Compute& order, Time now) = 0;
  // With hand-over: positions of a micro-batch of it; 0: it is computed as a whole.
  [[nodiscard]] virtual std::uint64_t micro_batch(const Compute&) const { return 0; }
  // How long the first of its positions take.
  [[nodiscard]] virtual double seconds_until(const Order& order, std::uint64_t done) {
    return order.seconds * static_cast<double>(done) /
           static_cast<double>(order.compute.piece.positions.size());
  }
  // Says what its worker is answered, in order. Not asked for orders that were given up, or whose worker is
  // gone; the worker may go while it is answered.
  virtual void finish(const Order& done, const Say& say) = 0;
};

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

// Observers of a world: checkers, recorders and scripts of tests.
//
// A world tells its observers in the order in which they came. All that they are given lives as long as the
// call. An observer may kill, cut, pause and start nodes whenever it is told something.
class Observer {
 public:
  virtual ~Observer() = default;

  // A message is there, and its node alive; answers of compute nodes too. False: it is lost, and those that
  // come later are not told.
  virtual bool arrives(const Envelope&) { return true; }
  // A machine has taken in a message, or was woken (null), and what it said is on its way.
  virtual void stepped(const Hosted&, const Envelope*) {}
  virtual void ordered(NodeId /*worker*/, const Compute&) {}  // with parameters
  virtual void told(const ToRecorder&) {}                     // what is meant for people
  virtual void killed(NodeId) {}
};

}  // namespace steelyard::sim
