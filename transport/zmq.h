// A link over ZeroMQ: tcp between machines, ipc within one.
//
// A node has at most one listening socket (ROUTER: the scheduler's carries control, a shard's carries bulk)
// and any number of outward connections (DEALER), each a socket of its own. A message is the routing
// identity, one header frame and at most one payload frame; payloads are sent from, and received into, the
// blob's own memory.
//
// libzmq's own reconnecting is not trusted to preserve anything: each socket has a monitor, and when a
// connection breaks the socket is closed and made anew under a new routing identity, and the machine hears
// Disconnected{peer}. On the listening side the same is known from the descriptor through which a peer's
// last message came.
//
// A message whose arrival the other side's kernel does not confirm is followed by a nudge
// (transport/nudges.h), so that a lost packet does not wait for TCP's timer.
//
// Where the context has keys (transport/security/trust.h), all connections are encrypted, and who a peer is,
// its key says. A caller that is refused, meets another key than it expects, or whose peer is taken from the
// allow-list here, is told why. Towards the scheduler that is a Failure from receive(): nothing can be done
// without it. Of any other node the machine gets Unreachable, once for each reason, and the link tries again
// once a second; when the node lets it in, the machine gets Disconnected, for what it sent meanwhile is lost.
// A shard has no Unreachable: it gets Disconnected at once.
//
// Payloads that lie in shared memory are lent to processes of the same host and user instead of being sent,
// if both ends want it (transport/shared_memory/shared_memory_transfer.h). Only connections to a shard have
// such payloads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/buffer.h"
#include "transport/link.h"
#include "transport/reserved_port.h"
#include "transport/zmq_context.h"

namespace steelyard {

class ZmqLink : public Link {
 public:
  // With Memory::shared it lends and borrows payloads where that is possible.
  ZmqLink(ZmqContext& context, NodeId self, Memory payloads = Memory::own);
  ~ZmqLink() override;

  // Calls `tell` once it is known of a shard that was connected to whether payloads are lent.
  void on_exchange(std::function<void(NodeId shard, bool lent)> tell);

  // What follows throws Failure (configuration) where the process has no descriptors left.

  // Binds, e.g. "tcp://127.0.0.1:*" or "ipc:///path"; returns the endpoint that others
  // connect to, without the key of this process (protocol/keys.h). `port`: it was reserved before.
  // Throws Failure.
  std::string listen(const std::string& endpoint, ReservedPort* port = nullptr);

  void connect(NodeId peer, const std::string& endpoint) override;
  void disconnect(NodeId peer) override;
  void send(Envelope envelope) override;
  std::optional<Envelope> receive(Time deadline) override;
  void post(std::vector<Envelope> envelopes) override;

  // What was thrown away: it had no receiver, or made no sense.
  [[nodiscard]] std::uint64_t dropped() const;
  // How many attempts to connect to another node than the scheduler were denied.
  [[nodiscard]] std::uint64_t denied() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace steelyard
