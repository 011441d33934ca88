// A state machine of any type in a world, and the world's state about it.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "protocol/machine.h"
#include "protocol/messages.h"

namespace steelyard::sim {

struct Hosted;

// Computes for all workers of a world: the time of an order, and its answers. Also the time of the other
// nodes, which is zero by default.
class ComputeModel {
 public:
  struct Order {
    NodeId worker;
    Compute compute;  // with parameters
    Time begun;
    double seconds = 0;  // duration
  };
  using Say = std::function<void(ToWorker)>;

  virtual ~ComputeModel() = default;
  [[nodiscard]] virtual double seconds_for(NodeId worker, const Compute& order, Time now) = 0;
  // With hand-over: positions of one micro-batch of the order; 0: it is computed as a whole.
  [[nodiscard]] virtual std::uint64_t micro_batch(const Compute&) const { return 0; }
  // Seconds for the first `done` positions.
  [[nodiscard]] virtual double seconds_until(const Order& order, std::uint64_t done) {
    return order.seconds * static_cast<double>(done) /
           static_cast<double>(order.compute.piece.positions.size());
  }
  // Passes the answers for the worker to `say`, in order. Not called for abandoned orders or dead workers;
  // the worker may be killed during the call.
  virtual void finish(const Order& done, const Say& say) = 0;

  // Seconds that a node needs before it can handle this message. Later messages wait meanwhile.
  [[nodiscard]] virtual double seconds_before(const Hosted&, const Envelope&) { return 0; }
  // Called when a node has handled a message or was woken: seconds until it sends its answers and handles the
  // next message.
  [[nodiscard]] virtual double seconds_after(const Hosted&) { return 0; }
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
    Position end = 0;  // of the piece; a cut changes it
  };

  const NodeId id;
  Time armed = Time::max();            // the earliest timer set for it
  Time paused_until{};                 // the origin: not paused
  std::vector<Envelope> waiting{};     // arrived while it was paused
  bool prepared = false;               // seconds_before() of the first of `waiting` have begun
  std::vector<Computation> computing;  // ordered, and not abandoned
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

// The state machine itself; the caller knows its type from the node's role.
template <Machine M>
const M& machine_of(const Hosted& node) {
  return static_cast<const HostedMachine<M>&>(node).machine;
}

// Observers of a world: checkers, recorders and scripts of tests.
//
// A world calls its observers in the order of World::watch(). Arguments are valid during the call only. An
// observer may kill, cut, pause and start nodes in any call.
class Observer {
 public:
  virtual ~Observer() = default;

  // A message arrives at a living node; also answers of compute nodes. Return false to drop it: later
  // observers are then not called.
  virtual bool arrives(const Envelope&) { return true; }
  // A machine has processed a message, or was woken (null); the messages that it sent are on their way.
  virtual void stepped(const Hosted&, const Envelope*) {}
  virtual void ordered(NodeId /*worker*/, const Compute&) {}  // with parameters
  virtual void told(const ToRecorder&) {}                     // output for users
  virtual void killed(NodeId) {}
};

}  // namespace steelyard::sim
