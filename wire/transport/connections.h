// Connections: how much the connections that others opened to a listening socket may bring before it is a
// message. libzmq hands a message over when its last part is there, and tells of nobody before its first; how
// much it holds until then, only the kernel knows.
//
//  - A connection that has brought more than the largest frame since its last message is closed: it sends
//    parts without an end. So what is held is at most connections x largest frame, and what arrives between
//    two looks. The kernel counts this for TCP alone; an ipc connection comes from this machine and user.
//  - Of connections that have not sent a first message sixteen are kept, and the oldest closed; but each is
//    given eight of its own round trips, between a tenth of a second and a whole one, while there are no more
//    than 1,024: a thousand members that come back at once, over a slow line, would close each other else.
//  - One that was condemned is closed at the next look, so that what was said to it last can leave.
//
// libzmq has no way to end a connection: its descriptor is shut down. Where the descriptor belongs to another
// socket by now (the kernel's cookie tells), nothing happens.
//
// One thread, the link's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/time.h"
#include "wire/transport/zmq_socket.h"

namespace steelyard {

class Connections {
 public:
  static constexpr std::size_t most_silent = 16;
  static constexpr std::size_t most_silent_of_any_age = 1024;

  explicit Connections(std::size_t largest_frame) : largest_(largest_frame) {}

  void hear(const std::vector<SocketEvent>& events, Time now);  // in order
  void spoke(int descriptor);                                   // a message came through it
  void condemn(int descriptor, Time now);

  [[nodiscard]] Time next_look() const { return next_look_; }
  // Closes what has to be. `read` reads all messages that are there, so that nobody is closed for what this
  // thread has not read yet; false: there are more, and the look is taken later.
  void look(Time now, const std::function<bool()>& read);

 private:
  struct Connection {
    std::uint64_t cookie = 0;    // of its socket; 0: not known
    Time since;                  // when it was accepted
    bool silent = true;          // it has not sent a first message
    bool spoke = false;          // since the last look
    bool condemned = false;      // to be closed
    std::uint64_t received = 0;  // bytes, as of the last look
    std::uint64_t before = 0;    // of them, those that came until its last message was read
    Duration handshake{};        // that it is given
  };
  using Entry = std::pair<const int, Connection>;

  void accepted(int descriptor, Time now);
  void ended(int descriptor);
  [[nodiscard]] bool measure(Entry& entry) const;  // whether it is to be closed, if it says nothing now
  void judge_silent(Time now);
  static void close(const Entry& entry);

  const std::size_t largest_;
  std::map<int, Connection> connections_;  // by descriptor
  std::size_t silent_ = 0;
  Time next_look_ = Time::max();
};

}  // namespace steelyard
