// The world: a host for machines under virtual time.
//
// Machines are the product's own, or anything else that keeps the contract (protocol/machine.h). Links come
// from sim/simulated_network.h, what goes wrong from sim/faults.h, and in the place of all compute nodes
// stands one compute model. Checkers and recorders observe it (sim/simulation.h). Scenarios
// (sim/scenario_run.h) and tests (tests/support/test_world.h) are its clients: they start the nodes and say
// when to stop.
//
// Deterministic: what happens follows from the machines, the compute model, the faults and their seed. A
// plain object, of one thread.
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
  // The compute model and all observers must outlive it. `lost_with_sender`: of each message that a node had
  // under way when it was killed, the chance that it is lost, with all behind it to the same node.
  World(Network network, ComputeModel& computing, Faults faults = {}, double lost_with_sender = 0);

  // A node with a machine made of `args`. No two nodes have the same number; under the number of a dead one
  // another may start, and hears nothing that was meant for that.
  template <Machine M, class... Args>
  M& start(NodeId id, Args&&... args) {
    auto node = std::make_unique<HostedMachine<M>>(id, std::forward<Args>(args)...);
    M& machine = node->machine;
    add(std::move(node));
    return machine;
  }
  // What it had said may still arrive, and behind it the news that it is gone.
  void kill(NodeId node);
  // What is under way between two nodes is gone; both are told.
  void cut(NodeId a, NodeId b);
  // It neither hears nor does anything for so long; what arrives meanwhile waits.
  void pause(NodeId node, Duration duration);
  // What a host tells its own machine (sim/faults.h: of_host), at once.
  template <class Receiver>
  void tell(NodeId node, Receiver message) {
    messages_.push(now_, {{link_node, node, Message(std::in_place_type<Receiver>, std::move(message))}});
  }
  void post(Envelope envelope);  // as if its sender said it now
  void watch(Observer& observer) { observers_.push_back(&observer); }

  // Lets the next thing happen. False: nothing can happen any more.
  bool step();

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }  // messages
  [[nodiscard]] std::uint64_t size() const { return nodes_.size(); }    // node numbers below have been used
  [[nodiscard]] const Hosted* find(NodeId node) const;                  // null: it is not alive
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
    std::uint64_t positions = 0;  // part: so many are done; cut: where it is asked to end
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
  void take(Hosted& node, Outbox& out);
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
  std::map<std::uint64_t, ComputeModel::Order> divisible_;  // under way, by number: those that may be cut

  std::vector<std::unique_ptr<Hosted>> nodes_;                // by number; dead ones are null
  std::set<std::pair<std::uint64_t, std::uint64_t>> silent_;  // of the dead, to whom nothing more arrives
  std::set<std::uint64_t> dead_;                              // numbers
  std::vector<Observer*> observers_;
  std::vector<Envelope> spare_;  // memory for the next outbox
  EventQueue<Sent> messages_;
  EventQueue<Computing> computing_;
  EventQueue<std::uint64_t> timers_;  // node numbers
};

}  // namespace steelyard::sim
