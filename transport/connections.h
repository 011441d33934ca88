// Connections: what the connections that others opened to a listening socket may bring before it is a
// message. libzmq hands a message over when its last part is there, and announces no connection before its
// first message; what it holds until then, only the kernel knows.
//
//  - A connection that has brought more than the largest frame since its last message is closed: it sends
//    parts without an end. So what is held is at most connections x largest frame, and what arrives between
//    two looks.
//  - With keys, one that brings more than a handshake has, and has not ended it, is closed.
//  - Of connections at the door, which have brought neither a handshake nor a message, sixteen are kept. More
//    are kept for as long as they get on: the oldest that has sent nothing for a second is closed, or the
//    oldest of all where there are more than 4,096. A thousand members may come at once, and what they wait
//    for then is this process.
//  - One that was condemned is closed at the next look, so that what was sent to it last can leave; it may
//    never stop to send.
//
// The kernel counts this for TCP alone. An ipc connection comes from this machine and this user: of those
// only the number at the door is limited.
//
// libzmq has no way to end a connection: its descriptor is shut down. Where the descriptor belongs to another
// socket by now (the kernel's cookie of it is another), nothing happens.
//
// One thread, the link's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "core/queue.h"
#include "core/time.h"
#include "protocol/machine.h"
#include "transport/zmq_socket.h"

namespace steelyard {

// HeldEnd: a second descriptor of somebody's connection, which tells who has ended that.
//
// libzmq tells that a connection has ended, and not why: either the system of the other process has closed
// it, or libzmq has, because the other process did not answer heartbeats. A process that is stopped has not
// ended.
//
// Nothing is read. While it lives, the other end does not see that the first descriptor was closed.
class HeldEnd {
 public:
  explicit HeldEnd(int descriptor);  // the caller's stays the caller's

  // The other end has closed it, or the system has given it up; also where no descriptor was left to hold it.
  [[nodiscard]] bool closed_there() const;

 private:
  Descriptor descriptor_;
};

// Mailbox: the envelopes that wait for the machine behind a link, and those that other threads put there.
//
// post() may be called by any thread; all else belongs to one, the link's.
class Mailbox {
 public:
  Mailbox();

  void post(std::vector<Envelope> envelopes);
  // Becomes readable when something was posted. The mailbox's own.
  [[nodiscard]] int descriptor() const { return wake_.get(); }
  void take_posted();

  void push_back(Envelope envelope) { inbox_.push_back(std::move(envelope)); }
  [[nodiscard]] bool empty() const { return inbox_.empty(); }
  Envelope next();                // which there must be
  void drop_from(NodeId sender);  // what waits

 private:
  const Descriptor wake_;
  BoundedQueue<Envelope> posted_;  // the only thing other threads touch, with wake_
  std::deque<Envelope> inbox_;
};

class Connections {
 public:
  static constexpr std::size_t most_at_door = 16;
  static constexpr std::size_t most_at_door_ever = 4096;

  Connections(std::size_t largest_frame, bool keyed) : largest_(largest_frame), keyed_(keyed) {}

  void take(const std::vector<SocketEvent>& events, Time now);  // in order
  void received_from(int descriptor);                           // a message
  void condemn(int descriptor, Time now);

  [[nodiscard]] Time next_look() const { return next_look_; }
  // Closes what has to be. `read` reads all messages that are there, so that nobody is closed for what this
  // thread has not read yet; false: there are more, and the look is taken later.
  void look(Time now, const std::function<bool()>& read);

 private:
  struct Connection {
    std::uint64_t cookie = 0;  // of its socket; 0: not known
    std::uint64_t number = 0;  // in the order in which they were accepted
    bool at_door = true;
    bool sent = false;           // a message, since the last look
    bool condemned = false;      // to be closed
    std::uint64_t received = 0;  // bytes, as of the last look
    std::uint64_t before = 0;    // of them, those that came until its last message was read
    Duration idle{};             // since it last sent anything, where all of it has been read
  };
  using Entry = std::pair<const int, Connection>;

  void accepted(int descriptor, Time now);
  void ended(int descriptor);
  void enters(Connection& it);
  [[nodiscard]] bool measure(Entry& entry);  // whether it is to be closed, if it sends nothing now
  void clear_door();
  static void close(const Entry& entry);

  const std::size_t largest_;
  const bool keyed_;
  std::map<int, Connection> connections_;  // by descriptor
  std::map<int, std::uint64_t> early_;     // cookies of those whose message was read before they were known
  std::uint64_t accepted_ = 0;
  std::size_t at_door_ = 0;
  Time next_look_ = Time::max();
};

}  // namespace steelyard
