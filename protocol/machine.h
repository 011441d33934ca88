// The machine contract: decide here, do there.
//
// Scheduler, shard, worker and checkpointer are plain objects: an envelope in, envelopes out. They own no
// socket, thread, clock, file or log. A host moves the envelopes: ZeroMQ between processes, queues inside
// one, a simulator's event list, a test's script. Given the same envelopes at the same times a machine says
// the same things.
#pragma once

#include <algorithm>
#include <concepts>
#include <iterator>
#include <utility>
#include <vector>

#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

struct Envelope {
  NodeId from, to;
  Message message;
};

// What a machine wants said. Sender and order are kept; delivery is the host's affair.
class Outbox {
 public:
  explicit Outbox(NodeId self) : self_(self) {}
  // The same in memory that the host has used before: what is in it goes.
  Outbox(NodeId self, std::vector<Envelope> memory) : self_(self), envelopes_(std::move(memory)) {
    envelopes_.clear();
  }

  template <class Receiver, class Said>
  void send(NodeId to, Said said) {
    envelopes_.push_back({self_, to, Message(std::in_place_type<Receiver>, std::move(said))});
  }
  // What somebody wanted said before.
  void append(std::vector<Envelope> said) { std::ranges::move(said, std::back_inserter(envelopes_)); }
  [[nodiscard]] std::vector<Envelope> take() { return std::exchange(envelopes_, {}); }

 private:
  NodeId self_;
  std::vector<Envelope> envelopes_;
};

template <class M>
concept Machine = requires(M machine, const M& constant, Time now, const Envelope& in, Outbox& out) {
  machine.step(now, in, out);                     // a message arrived
  machine.wake(now, out);                         // the deadline passed (early or twice is harmless)
  { constant.deadline() } -> std::same_as<Time>;  // Time::max() for never
  { constant.finished() } -> std::same_as<bool>;  // nothing more will be said
};

// Joins lambdas into one visitor; std::visit then demands one for every message of the variant.
template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...)
    -> Overloaded<Handlers...>;  // clang 14, and so clang-tidy, does not find it by itself

}  // namespace steelyard
