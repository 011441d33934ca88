// World: a host for state machines in virtual time.
//
// Machines are the product's own, or others that satisfy the interface (protocol/machine.h). Links come from
// sim/simulated_network.h, faults from sim/faults.h, and one compute model replaces all compute nodes.
// Checkers and recorders observe the world (sim/hosted.h). Scenarios (sim/scenario_run.h) and tests
// (tests/support/test_world.h) are its clients: they start the nodes and decide when to stop.
//
// Deterministic: everything follows from the machines, the compute model, the faults and their seed. A plain
// object for one thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "sim/event_queue.h"
#include "sim/faults.h"
#include "sim/hosted.h"
#include "sim/simulated_network.h"

namespace steelyard::sim {

class World {
 public:
  // The compute model and all observers must outlive it. `lost_with_sender`: for each message on its way from
  // a node that is killed, the probability that it and all later ones to the same receiver are lost.
  World(Network network, ComputeModel& computing, Faults faults = {}, double lost_with_sender = 0);

  // Starts a node with a machine made of `args`. No two nodes have the same number. The number of a dead node
  // may be reused; the new node receives no messages meant for the old one.
  template <Machine M, class... Args>
  M& start(NodeId id, Args&&... args) {
    auto node = std::make_unique<HostedMachine<M>>(id, std::forward<Args>(args)...);
    M& machine = node->machine;
    add(std::move(node));
    return machine;
  }
  // Messages that it had sent may still arrive, and after them the notification of its loss.
  void kill(NodeId node);
  // Loses all messages between two nodes and notifies both.
  void cut(NodeId a, NodeId b);
  // The node does nothing for this duration; arriving messages wait.
  void pause(NodeId node, Duration duration);
  // Delivers a message of the host to its own machine (sim/faults.h: of_host), at the current time.
  template <class Receiver>
  void tell(NodeId node, Receiver message) {
    messages_.push(now_, {{link_node, node, Message(std::in_place_type<Receiver>, std::move(message))}});
  }
  void post(Envelope envelope) { send(std::move(envelope), now_); }  // as if its sender sent it now
  void watch(Observer& observer) { observers_.push_back(&observer); }

  // Processes the next event. Returns false without events.
  bool step();

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }  // messages
  [[nodiscard]] std::uint64_t size() const {
    return nodes_.size();
  }                                                     // upper bound of all node numbers
                                                        // used
  [[nodiscard]] const Hosted* find(NodeId node) const;  // null: not alive
  [[nodiscard]] Network& network() { return network_; }

 private:
  struct Sent {
    Envelope envelope;
    std::uint32_t stamp = 0;  // of the connection
  };
  struct Computing {
    enum class What : std::uint8_t { end, part, cut };

    ComputeModel::Order order;
    std::uint64_t number = 0;
    What what = What::end;
    std::uint64_t positions = 0;  // part: number done; cut: the requested end
  };

  void add(std::unique_ptr<Hosted> node);
  [[nodiscard]] Hosted* living(NodeId node) { return const_cast<Hosted*>(find(node)); }
  void wake(std::uint64_t number);
  bool resume(NodeId id);
  void arm(Hosted& node);
  void arrive(const Sent& sent);
  [[nodiscard]] bool died_with_sender(const Envelope& envelope);
  void deliver(const Envelope& envelope);
  [[nodiscard]] bool passes(const Envelope& envelope);
  [[nodiscard]] bool must_prepare(Hosted& node, const Envelope& envelope);
  void take(Hosted& node, Outbox& out);
  void send(Envelope envelope, Time at);
  void compute(Hosted& node, const Compute& order);
  void ask_to_cut(const Hosted& node, const Cut& cut);
  [[nodiscard]] Hosted::Computation* awaited(const Computing& event);
  void happen(const Computing& event);
  void answer(const Computing& event, ToWorker said);
  void cut(const Computing& event);
  void finish(const Computing& done);

  Network network_;
  ComputeModel& computing_model_;
  Faults faults_;
  const double lost_with_sender_;
  Time now_{std::chrono::seconds(1)};
  std::uint64_t delivered_ = 0, computations_ = 0;
  std::map<std::uint64_t, ComputeModel::Order> divisible_;  // running, by number: those that can be cut

  std::vector<std::unique_ptr<Hosted>> nodes_;                // by number; dead ones are null
  std::set<std::pair<std::uint64_t, std::uint64_t>> silent_;  // a dead sender and a receiver that gets no
                                                              // more of its messages
  std::set<std::uint64_t> dead_;                              // numbers
  std::vector<Observer*> observers_;
  std::vector<Envelope> spare_;  // memory for the next outbox
  EventQueue<Sent> messages_;
  EventQueue<Computing> computing_;
  EventQueue<std::uint64_t> timers_;  // node numbers
};

}  // namespace steelyard::sim
