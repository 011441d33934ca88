// The host of a machine: moves envelopes between one machine, its link and its pseudo-nodes,
// and tells it the time.
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

// The door: which messages of other processes reach the machine behind a link.

// What `from` has sent to `self`, over a connection that belongs to `key` (empty: plain text, or a connection
// that this process opened itself). Nothing where it makes no sense, or is not for `from` to say.
//
// Where keys are used, the endpoint of a Hello gets the key of the connection that it came through: whoever
// connects there later meets the process that has said Hello, or nobody.
std::optional<Envelope> let_in(NodeId self, NodeId from, const std::string& key,
                               std::span<const std::byte> header, Blob payload);

// Receives what the machine says to pseudo-nodes of its own process (compute, recorder).
using LocalDelivery = std::function<void(Envelope)>;

void deliver(Link& link, const LocalDelivery& local, std::vector<Envelope> said);

// A host that is woken later than `stopped_after` was stopped, or its whole computer was. Messages of that
// time are still on their way through the kernel and other threads. So it reads for `catching_up` before the
// machine is woken and judges silence. It reads no longer than that, even if there is always more.
inline constexpr Duration stopped_after = std::chrono::milliseconds(500);
inline constexpr Duration catching_up = std::chrono::milliseconds(250);

// Runs until the machine has finished. What has queued up is read before the machine is woken.
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
