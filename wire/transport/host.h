// The host of a machine: moves envelopes between one machine, its link and its pseudo-nodes,
// and tells it the time.
#pragma once

#include <functional>

#include "wire/transport/link.h"

namespace steelyard {

// Receives what the machine says to pseudo-nodes of its own process (compute, recorder).
using LocalDelivery = std::function<void(Envelope)>;

void deliver(Link& link, const LocalDelivery& local, std::vector<Envelope> said);

// Runs until the machine has finished.
template <Machine M>
void host(M& machine, NodeId self, Link& link, const LocalDelivery& local = {}) {
  Outbox out(self);
  machine.wake(steady_now(), out);
  deliver(link, local, out.take());
  while (!machine.finished()) {
    const std::optional<Envelope> in = link.receive(machine.deadline());
    const Time now = steady_now();
    if (in) machine.step(now, *in, out);
    if (now >= machine.deadline()) machine.wake(now, out);
    deliver(link, local, out.take());
  }
}

}  // namespace steelyard
