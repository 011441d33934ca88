#include "cli/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace steelyard {
namespace {

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
    bool asked = false;
    while (!done_) {
      const timespec patience{0, 100'000'000};
      const int signal = sigtimedwait(&set, nullptr, &patience);
      if (signal < 0) continue;
      if (std::exchange(asked, true)) _exit(128 + signal);
      on_request(signal);
    }
  });
}

SignalWatch::~SignalWatch() {
  done_ = true;
  thread_.join();
}

}  // namespace steelyard
