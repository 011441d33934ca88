// Signals to a process. Orderly shutdown: the first SIGINT or SIGTERM calls `on_request` on a separate
// thread; a second one, unless it is a duplicate of the same request, exits the process immediately with code
// 128 + signal. Both print a message on standard error, unless it is blocked.
//
// The signal that the kernel sends when the parent exits is no second request: an engine may kill a
// supervisor soon after it has asked it to end, while its processes save.
//
// Construct before starting any other thread, because threads inherit the blocked signals.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

namespace steelyard {

// The supervisor of a job sends this to its scheduler: a process of the job exited for good.
inline constexpr int somebody_is_gone = SIGUSR2;
// Sent to a scheduler, or to the supervisor of a job: save a checkpoint, and continue. Other processes ignore
// it.
inline constexpr int save_and_continue = SIGUSR1;

class SignalWatch {
 public:
  struct Words {
    std::string first;  // printed at the first Ctrl-C: what happens, and what a second one does
    std::function<std::string()> second;  // printed at the second: what is kept, and how to continue from it
  };
  SignalWatch(std::function<void(int signal)> on_request, Words words,
              std::function<void()> on_somebody_gone = {}, std::function<void()> on_save = {});
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  void watch();

  const std::function<void(int)> on_request_;
  const Words words_;
  const std::function<void()> on_somebody_gone_, on_save_;
  const pid_t parent_;
  std::atomic<bool> done_{false};
  std::thread thread_;  // last: it uses all of the above
};

// All of the above.
sigset_t watched_signals();
// Blocks these signals in this thread and in threads that it starts; SignalWatch calls it too.
void block_signals();

}  // namespace steelyard
