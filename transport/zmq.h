// A link over ZeroMQ: tcp between machines, ipc within one.
//
// A node has at most one listening socket (ROUTER; the scheduler's carries control, a shard's carries bulk)
// and any number of outgoing connections (a DEALER socket each). A message is the routing identity, one
// header frame and at most one payload frame. Payloads are sent from, and received into, the blob's own
// memory.
//
// libzmq's reconnecting loses messages silently. Therefore each socket has a monitor: when a connection
// breaks, the socket is replaced by one with a new routing identity, and the machine gets Disconnected{peer}.
// The listening side recognizes a broken connection by the descriptor of the peer's last message.
//
// A message that the other side's kernel does not acknowledge is followed by a nudge (transport/nudges.h), so
// that a lost packet does not wait for TCP's timer.
//
// If the context has keys (transport/security/trust.h), all connections are encrypted, and a peer's key
// determines its role. A connecting node gets the reason if it is rejected, finds another key than expected,
// or if its peer is removed from the allow-list here. If the peer is the scheduler, receive() throws a
// Failure, because nothing works without it. For any other node the machine gets Unreachable, once for each
// reason, and the link retries once a second; when the node accepts it, the machine gets Disconnected,
// because messages sent meanwhile were lost. A shard has no Unreachable: it gets Disconnected at once.
//
// Nodes of the same process need no connection (transport/same_process.h).
//
// Payloads in shared memory are lent to processes of the same host and user instead of being sent, if both
// ends agree (transport/shared_memory/shared_memory_transfer.h). Only connections to a shard carry such
// payloads. The links of such processes also exchange short messages directly: a worker's with those of the
// scheduler and the shards, and a shard's with the scheduler's (transport/direct/direct_lines.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/buffer.h"
#include "core/device_exchange.h"
#include "transport/exchanged.h"
#include "transport/link.h"
#include "transport/reserved_port.h"
#include "transport/same_process.h"
#include "transport/zmq_context.h"

namespace steelyard {

class ZmqLink : public Link {
 public:
  // With Memory::shared the link lends and borrows payloads where possible.
  ZmqLink(ZmqContext& context, NodeId self, Memory payloads = Memory::own);
  ~ZmqLink() override;

  // From now on exchanges envelopes with the nodes of `links` by pointer.
  void join(std::shared_ptr<SameProcess> links);

  // Before connections to shards and before receive(): also lends and borrows payloads in the memory of these
  // devices, if `payloads` are shared.
  void lend_from(std::shared_ptr<DeviceExchange> devices);

  // Calls `tell` for each shard, once its link has found out how payloads are exchanged.
  void on_exchange(std::function<void(NodeId shard, Exchanged by)> tell);

  // The following throw Failure (configuration) if the process has no descriptors left.

  // Binds, e.g. "tcp://127.0.0.1:*" or "ipc:///path"; returns the endpoint for others to connect to, without
  // this process's key (protocol/keys.h). `port`: reserved before. Throws Failure.
  std::string listen(const std::string& endpoint, ReservedPort* port = nullptr);

  void connect(NodeId peer, const std::string& endpoint) override;
  void disconnect(NodeId peer) override;
  void send(Envelope envelope) override;
  std::optional<Envelope> receive(Time deadline) override;
  void post(std::vector<Envelope> envelopes) override;

  // Whether short messages to this node go directly, without libzmq's threads.
  [[nodiscard]] bool is_direct(NodeId peer) const;
  // Number of messages dropped: without a receiver, or malformed.
  [[nodiscard]] std::uint64_t dropped() const;
  // Number of denied attempts to connect to nodes other than the scheduler.
  [[nodiscard]] std::uint64_t denied() const;

 private:
  class State;
  std::unique_ptr<State> state_;
  std::shared_ptr<SameProcess> here_;  // may be null
  NodeId self_;
};

}  // namespace steelyard
