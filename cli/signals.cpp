#include "cli/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "core/time.h"

namespace steelyard {
namespace {

// The kernel may tell a child of its parent's end more than once, a thread of the parent at a time.
constexpr Duration same_request = std::chrono::milliseconds(300);

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

void block_signals() {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalWatch::SignalWatch(std::function<void(int)> on_request) {
  block_signals();
  thread_ = std::thread([this, on_request = std::move(on_request)] {
    const sigset_t set = watched();
    std::optional<Time> asked;
    int first = 0;
    while (!done_) {
      const timespec patience{0, 100'000'000};
      const int signal = sigtimedwait(&set, nullptr, &patience);
      if (signal < 0) continue;
      if (!asked) {
        asked = steady_now();
        first = signal;
        on_request(signal);
      } else if (signal != first || signal == SIGINT || steady_now() - *asked > same_request) {
        _exit(128 + signal);
      }
    }
  });
}

SignalWatch::~SignalWatch() {
  done_ = true;
  thread_.join();
}

}  // namespace steelyard
