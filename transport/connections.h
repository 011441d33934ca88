// Connections: limits what accepted connections may send without completing a message. libzmq delivers a
// message when its last part has arrived, and announces no connection before its first message; until then
// only the kernel counts the data held for the connection.
//
//  - A connection that has sent more than the largest frame since its last message is closed: it sends parts
//    without an end.
//  - Without a high-water mark (control), a connection is closed if more than the largest frame of its
//    messages waits to be read while other messages wait as well: it sends faster than this thread reads.
//    A process thus holds at most connections x largest frame, plus data that arrives between two checks.
//  - With keys, a connection that sends more than a handshake without completing it is closed.
//  - A connection is pending (`at_door`) until it has completed a handshake or a message. If more than 16
//    are, the oldest that has sent nothing for a second is closed; if more than 4,096, the oldest of all. So
//    a thousand members may connect at once, even if this process is slow.
//  - A condemned connection is closed at the next check, so that the last message sent to it can leave. Its
//    peer might never stop sending.
//
// The kernel counts bytes for TCP only. ipc connections come from this machine and user, so only the number
// of pending ones is limited.
//
// libzmq cannot close a single connection, so its descriptor is shut down, unless the kernel's cookie shows
// that the descriptor now belongs to another socket.
//
// One thread, the link's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "core/queue.h"
#include "core/time.h"
#include "protocol/machine.h"
#include "transport/zmq_socket.h"

namespace steelyard {

// HeldEnd: a duplicate descriptor of a connection, which shows which side closed it.
//
// libzmq reports the end of a connection without the cause: the other system closed it, or libzmq did because
// the other process did not answer heartbeats. A stopped process has not exited.
//
// It never reads. While it exists, the other end does not see that the first descriptor was closed.
class HeldEnd {
 public:
  explicit HeldEnd(int descriptor);  // duplicates the caller's descriptor

  // The other end has closed it or the system has given it up. Also true if no descriptor was left to hold
  // it.
  [[nodiscard]] bool closed_there() const;

 private:
  Descriptor descriptor_;
};

// Mailbox: envelopes queued for the machine behind a link, by the link or by other threads.
//
// post() may be called by any thread; all else belongs to one, the link's.
class Mailbox {
 public:
  Mailbox();

  void post(std::vector<Envelope> envelopes);
  // Readable when an envelope was posted. Owned by the mailbox.
  [[nodiscard]] int descriptor() const { return wake_.get(); }
  void take_posted();

  void push_back(Envelope envelope) { inbox_.push_back(std::move(envelope)); }
  [[nodiscard]] bool empty() const { return inbox_.empty(); }
  Envelope next();                // precondition: not empty
  void drop_from(NodeId sender);  // queued envelopes

 private:
  const Descriptor wake_;
  BoundedQueue<Envelope> posted_;  // the only thing other threads touch, with wake_
  std::deque<Envelope> inbox_;
};

class Connections {
 public:
  static constexpr std::size_t most_at_door = 16;
  static constexpr std::size_t most_at_door_ever = 4096;

  // `marked`: libzmq's high-water mark limits the messages that wait.
  Connections(std::size_t largest_frame, bool keyed, bool marked)
      : largest_(largest_frame), keyed_(keyed), marked_(marked) {}

  void take(const std::vector<SocketEvent>& events, Time now);  // in order
  // A message; `frames`: the bytes of each, without ZMTP's and CURVE's own.
  void received_from(int descriptor, std::initializer_list<std::size_t> frames = {});
  void condemn(int descriptor, Time now);

  [[nodiscard]] Time next_look() const { return next_look_; }
  // Closes connections beyond the limits. `read` first reads all available messages, so that no connection is
  // closed because of data that this thread has not read yet; it returns false if more remain, and the check
  // is repeated later.
  void look(Time now, const std::function<bool()>& read);

 private:
  struct Connection {
    std::uint64_t cookie = 0;  // of its socket; 0: unknown
    std::uint64_t number = 0;  // order of acceptance
    bool at_door = true;
    bool sent = false;           // a message since the last check
    bool condemned = false;      // close at the next check
    std::uint64_t received = 0;  // bytes, at the last check
    std::uint64_t before = 0;    // of these, bytes that came before its last message was read
    std::uint64_t read = 0;      // of these, bytes that are known to be read
    Duration idle{};             // time since it last sent data, if all of it was read
  };
  using Entry = std::pair<const int, Connection>;

  void accepted(int descriptor, Time now);
  void ended(int descriptor);
  void enters(Connection& it);
  [[nodiscard]] bool measure(Entry& entry);  // whether to close it unless a message arrives now
  // Whether more than `bytes` of its messages may wait to be read.
  [[nodiscard]] bool piles_up(const Connection& it, std::uint64_t bytes) const {
    return !marked_ && it.received > it.read + bytes;
  }
  void clear_door();
  static void close(const Entry& entry);

  const std::size_t largest_;
  const bool keyed_, marked_;
  std::map<int, Connection> connections_;  // by descriptor
  std::map<int, std::uint64_t> early_;     // cookies of connections with a message but not yet announced
  std::uint64_t accepted_ = 0;
  std::size_t at_door_ = 0;
  Time next_look_ = Time::max();
};

}  // namespace steelyard
