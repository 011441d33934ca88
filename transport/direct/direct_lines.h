// DirectLines: the direct connections of one link, beside its ZeroMQ connections to the same peers
// (transport/direct/direct_socket.h).
//
// The connecting side asks for one through each new ZeroMQ connection, and the listening side answers with a
// place and a ticket. The connecting side sends the ticket as its first packet, and the listening side sends
// it back. From then on both send short frames without a payload directly; all others continue to
// go through ZeroMQ, and so does a short frame if the other side does not read. If the processes are on
// different hosts, in different network namespaces or of different users, nothing changes.
//
// Order: both sides count the frames that pass through ZeroMQ, and a packet begins with the number of those
// that were sent before it. The receiver holds it until it has received them. Packets sent before a frame
// are in the kernel when that frame is sent, so the receiver reads them first. One order results.
//
// A direct connection ends with the ZeroMQ connection it belongs to: that one has the monitor and the
// heartbeats, and the node gets Disconnected because of it.
//
// One thread, the link's.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "protocol/codec.h"
#include "protocol/node.h"
#include "transport/direct/direct_frames.h"
#include "transport/direct/direct_socket.h"

namespace steelyard {

class DirectLines {
 public:
  using Bytes = std::vector<std::byte>;
  // Bytes of a frame; longer ones go through ZeroMQ. The kernel holds a few of them for a slow reader.
  static constexpr std::size_t longest = 32 << 10;
  static constexpr std::size_t most_lines = 256;   // peers; others are not asked, and get no answer
  static constexpr std::size_t most_unnamed = 64;  // accepted connections without a ticket yet
  static constexpr int most_accepted = 16;         // connections in a turn

  // A new ZeroMQ connection to this peer: its request, to be sent as the first frame. Returns std::nullopt if
  // too many are connected. One that is not yet connected, or cannot be, gives its place to a new one.
  std::optional<Bytes> ask(NodeId peer);
  // Handles a frame of the peer for which is_direct_frame() is true. Returns false if it is malformed or was
  // not expected. The caller sends `answer` back if it is not empty.
  bool hear(NodeId peer, std::span<const std::byte> frame, Bytes& answer);
  void forget(NodeId peer) { lines_.erase(peer); }  // the ZeroMQ connection has ended

  // Counts each frame that passes through ZeroMQ, when it is sent, and before it is handled.
  void sent(NodeId peer);
  void received(NodeId peer);

  // Returns false if the frame must go through ZeroMQ, as all do before the ticket has come back.
  bool send(NodeId peer, const Frames& frames);
  // The next frame from this peer; a view that is valid until the next call for this peer. Returns
  // std::nullopt if no packet has arrived, or if frames that were sent before it are still on their way.
  std::optional<std::span<const std::byte>> next(NodeId peer);

  // Adds the descriptors to wait for.
  void watch(std::vector<pollfd>& watched);
  // Takes what watch() added, after the wait: accepts connections, and returns the peers with packets.
  std::vector<NodeId> readable(std::span<const pollfd> watched);
  // Forgets the lines that the other side has closed: it exits, or its ZeroMQ connection has ended.
  void drop_ended();

  [[nodiscard]] bool connected(NodeId peer) const;
  [[nodiscard]] std::vector<NodeId> peers() const;  // that may have sent packets

 private:
  struct Line {
    std::uint64_t number = 0;  // increases with each line
    bool calls = false;        // this side asks
    DirectName ticket{};       // of the listening side's answer
    bool agreed = false;       // the ticket has arrived here
    std::uint64_t sent = 0, received = 0;
    std::optional<DirectSocket> socket{};
    Bytes packet{};        // memory for the last packet
    std::size_t size = 0;  // of the last packet
    bool held = false;     // it must wait
  };

  static bool connect(Line& line, const DirectAnswer& answer);
  static bool read(Line& line);
  Line* make_line(NodeId peer);
  std::optional<Bytes> answer(NodeId peer);
  void accept_some();
  void name_one(std::size_t index);

  std::map<NodeId, Line> lines_;
  std::uint64_t lines_made_ = 0;
  std::optional<DirectListener> listener_;  // made for the first request
  std::vector<DirectSocket> unnamed_;       // accepted, before their first packet
  std::vector<NodeId> watched_;             // the lines that watch() added, in order
  std::size_t watched_unnamed_ = 0;
};

}  // namespace steelyard
