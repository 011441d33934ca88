// Orderly endings: the first SIGINT or SIGTERM is told to `on_request`, on a thread of its own; a second one,
// unless it is the same request told twice, ends the process at once with the code 128 + signal. People are
// told both on standard error, unless nothing can be written there just then.
//
// Construct before any other thread is started: they inherit the blocked signals.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

namespace steelyard {

// To a scheduler, from what supervises its job: a process of the job is gone for good.
inline constexpr int somebody_is_gone = SIGUSR2;

class SignalWatch {
 public:
  struct Words {
    std::string first;                    // at a first Ctrl-C: what happens, and what a second one does
    std::function<std::string()> second;  // what is kept, and how to go on with it
  };
  SignalWatch(std::function<void(int signal)> on_request, Words words,
              std::function<void()> on_somebody_gone = {});
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  void watch();

  const std::function<void(int)> on_request_;
  const Words words_;
  const std::function<void()> on_somebody_gone_;
  std::atomic<bool> done_{false};
  std::thread thread_;  // last: it uses all of the above
};

// Blocks these signals in this thread and those it starts; SignalWatch does so itself.
void block_signals();

}  // namespace steelyard
