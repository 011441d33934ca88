// Orderly endings: the first SIGINT or SIGTERM is told to `on_request`, on a thread of its own; a second one,
// unless it is the same request told twice, ends the process at once with the code 128 + signal.
//
// Construct before any other thread is started: they inherit the blocked signals.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace steelyard {

class SignalWatch {
 public:
  explicit SignalWatch(std::function<void(int signal)> on_request);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// Blocks SIGINT and SIGTERM in this thread and those it starts; SignalWatch does so itself.
void block_signals();

}  // namespace steelyard
