// Mailbox: the envelopes that wait for the machine behind a link, and those that other threads put there.
//
// post() may be called by any thread; all else belongs to one, the link's.
#pragma once

#include <deque>
#include <vector>

#include "core/queue.h"
#include "protocol/machine.h"

namespace steelyard {

class Mailbox {
 public:
  Mailbox();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void post(std::vector<Envelope> envelopes);
  // Becomes readable when something was posted. The mailbox's own.
  [[nodiscard]] int descriptor() const { return wake_; }
  void take_posted();

  void push_back(Envelope envelope) { inbox_.push_back(std::move(envelope)); }
  [[nodiscard]] bool empty() const { return inbox_.empty(); }
  Envelope next();                // which there must be
  void drop_from(NodeId sender);  // what waits

 private:
  const int wake_;
  BoundedQueue<Envelope> posted_;  // the only thing other threads touch, with wake_
  std::deque<Envelope> inbox_;
};

}  // namespace steelyard
