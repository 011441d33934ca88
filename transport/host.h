// The host of a machine: moves envelopes between a machine, its link and its pseudo-nodes, and calls it when
// its deadline passes.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "protocol/blob.h"
#include "protocol/machine.h"
#include "transport/link.h"

namespace steelyard {

// Admission: which messages of other processes reach the machine behind a link.

// Decodes a message that `from` sent to `self` over a connection authenticated by `key` (empty: plain text,
// or a connection opened by this process). Returns std::nullopt if it is malformed or `from` must not send
// it.
//
// With keys, the endpoint in a Hello gets the key of its connection. Nodes that connect there then reach the
// sender of the Hello or nothing.
std::optional<Envelope> let_in(NodeId self, NodeId from, const std::string& key,
                               std::span<const std::byte> header, Blob payload);

// Receives the machine's messages to pseudo-nodes of its own process (compute, recorder).
using LocalDelivery = std::function<void(Envelope)>;

// Messages to the scheduler are sent last: the scheduler may be woken on this processor and delay the rest,
// for which shards and other nodes wait.
void deliver(Link& link, const LocalDelivery& local, std::vector<Envelope> said);

// If a host wakes later than this after its deadline, the process or its computer was stopped. Messages from
// that time are still on their way through the kernel and other threads, so the host reads for up to
// `catching_up` before it wakes the machine, which judges silence.
inline constexpr Duration stopped_after = std::chrono::milliseconds(500);
inline constexpr Duration catching_up = std::chrono::milliseconds(250);

// Runs until the machine has finished. Queued messages are read before the machine is woken.
template <Machine M>
void host(M& machine, NodeId self, Link& link, const LocalDelivery& local = {}) {
  Outbox out(self);
  const auto hear = [&](Time deadline) {
    const std::optional<Envelope> in = link.receive(deadline);
    if (in) machine.step(steady_now(), *in, out);
    deliver(link, local, out.take());
    return in.has_value();
  };
  machine.wake(steady_now(), out);
  deliver(link, local, out.take());
  while (!machine.finished()) {
    const Time due = machine.deadline();
    hear(due);
    const Time now = steady_now();
    if (now < machine.deadline()) continue;
    const bool stopped = now - due > stopped_after;
    const Time enough = now + catching_up;
    while (!machine.finished() && steady_now() < enough && hear(stopped ? enough : Time{})) {
    }
    machine.wake(steady_now(), out);
    deliver(link, local, out.take());
  }
}

}  // namespace steelyard
