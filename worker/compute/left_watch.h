// LeftWatch: tells a polite worker, twice a second, what other programs leave of the processors that it may
// use.
//
// On a thread of its own that does not give way: the threads that compute come to nothing while the machine
// is full, which is when the others have to know.
#pragma once

#include <functional>
#include <thread>

#include "core/queue.h"
#include "worker/compute/meter.h"

namespace steelyard {

// The share of the time that a worker with so many threads may work, without the least that polite_share()
// grants it. Negative: not known.
double left_share(double left, unsigned cores, unsigned threads);

class LeftWatch {
 public:
  // `tell` is called on this one's thread, with left_share(), until the destructor is.
  LeftWatch(unsigned threads, std::function<void(double share)> tell, Meter meter = Meter());
  ~LeftWatch();
  LeftWatch(const LeftWatch&) = delete;
  LeftWatch& operator=(const LeftWatch&) = delete;

 private:
  void run();

  const unsigned threads_;
  const std::function<void(double)> tell_;
  Meter meter_;
  BoundedQueue<bool> end_{1};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace steelyard
