// ZmqLink::State: the sockets of a link and what passes through them. Used by zmq.cpp, which connects, sends
// and loses peers, and zmq_receive.cpp, which waits and receives.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "transport/connections.h"
#include "transport/dealer.h"
#include "transport/direct/direct_lines.h"
#include "transport/nudges.h"
#include "transport/security/peer_table.h"
#include "transport/security/trust.h"
#include "transport/zmq.h"

namespace steelyard {

class ZmqLink::State {
 public:
  State(const ZmqContext& context, NodeId self, Memory payloads)
      : context_(*static_cast<zmq::context_t*>(context.handle())),
        trust_(context.trust()),
        self_(self),
        trial_(payloads == Memory::shared ? Segment::make(0) : nullptr) {}

  std::string listen(const std::string& endpoint, ReservedPort* port);
  void connect(NodeId peer, const std::string& endpoint);
  void disconnect(NodeId peer) {
    if (const auto dealer = dealers_.find(peer); dealer != dealers_.end()) {
      for (const Dealer::Line& line : dealer->second.lines)
        line.socket->socket().set(zmq::sockopt::linger, 0);
      dealers_.erase(dealer);
    }
    denied_.remove(peer);
    nudges_.forget(peer);
    direct_.forget(peer);
  }
  // `everywhere`: to all places of `to`. Returns false if no connection accepted it.
  bool send(NodeId to, Frames frames, bool everywhere);
  std::optional<Envelope> receive(Time deadline);
  void post(std::vector<Envelope> envelopes) { inbox_.post(std::move(envelopes)); }

  [[nodiscard]] bool is_direct(NodeId peer) const { return direct_.connected(peer); }
  [[nodiscard]] std::uint64_t denied() const { return denied_.times(); }
  void refused(NodeId node);

  std::uint64_t dropped = 0;
  std::function<void(NodeId shard, Exchanged by)> on_exchange;
  std::shared_ptr<DeviceExchange> devices;  // may be null; outlives the connections

 private:
  struct Lane {  // to one peer
    NodeId peer;
    ZmqSocket& socket;
    const RoutingId* id;  // null for a dealer
    std::unique_ptr<SharedMemoryTransfer>& lending;
  };

  Dealer dial(NodeId peer, const std::string& endpoint);
  Dealer::Line dial_place(NodeId peer, const std::string& place, bool one_of_several);
  void wait(Time deadline);
  void drain_line(NodeId peer, std::size_t line);
  void drain_router();
  void identify(const Received& received);
  bool drain_direct(NodeId peer, int most);
  void drain_all_direct();
  [[nodiscard]] bool has_connection(NodeId peer) { return dealers_.contains(peer) || peers_.find(peer); }
  void drop_direct_leftovers();
  void come_through_socket(NodeId peer);
  void watch_line(NodeId peer, std::size_t line);
  void watch_router();
  void look_at_list();
  void deny(NodeId peer, const std::string& why);
  void try_denied();
  void look_at_connections();
  void lose(std::optional<NodeId> node);
  // `line`: index of the dealer's connection; 0 for the router.
  void accept(NodeId from, Received received, std::size_t line = 0);
  void accept(NodeId from, const std::string& key, std::span<const std::byte> header, Blob payload,
              std::size_t line = 0);
  bool is_believed(const Envelope& in, std::size_t line);
  // Frames for links. The key is that of the connection.
  bool hear(NodeId from, const std::string& key, std::span<const std::byte> frame);
  bool hear_lending(NodeId from, const std::string& key, std::span<const std::byte> frame);
  bool hear_direct(NodeId from, std::span<const std::byte> frame);
  std::optional<Lane> lane_to(NodeId node);
  std::unique_ptr<SharedMemoryTransfer> transfer() {
    return std::make_unique<SharedMemoryTransfer>(trial_.get(), memory_, devices.get());
  }
  bool send_now(const Lane& lane, Frames frames);
  bool send_through_socket(const Lane& lane, Frames frames);
  void send_batch(const Lane& lane);
  void send_batches();
  void nudge();

  zmq::context_t& context_;
  const Trust* const trust_;  // null: plain text
  KnownKeys keys_{trust_};
  const NodeId self_;
  Mailbox inbox_;
  std::uint64_t sockets_made_ = 0;

  const std::unique_ptr<const Segment> trial_;  // for peers to test; null: no lending
  PeerMemory memory_;                           // of the leases below
  std::map<NodeId, Dealer> dealers_;
  Denied denied_;
  std::unique_ptr<ZmqSocket> router_;
  PeerTable peers_{traffic_of(self_)};  // of the router
  // To the router.
  Connections connections_{largest_frame(true, traffic_of(self_)), trust_ != nullptr,
                           traffic_of(self_) == Traffic::bulk};
  Nudges nudges_;
  DirectLines direct_;
  bool batches_wait_ = false;  // messages were taken since send_batches()
};

}  // namespace steelyard
