#include "app/processes/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "app/report/terminal_writer.h"
#include "core/time.h"

namespace steelyard {
namespace {

// A process of a preempted job gets SIGTERM from Slurm, twice, and from each of its supervisors, later if the
// machine is busy. The kernel may signal the exit of a parent once for each thread of the parent.
constexpr Duration same_request = std::chrono::seconds(5);

constexpr Duration last_word = std::chrono::milliseconds(100);  // to write the last message

void say(const std::string& text) {
  if (text.empty()) return;
  const char* before = isatty(STDERR_FILENO) == 1 ? "\n" : "";  // after ^C or a progress line
  standard_error().line(before + ("steelyard: " + text));
}

}  // namespace

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, somebody_is_gone, save_and_continue}) sigaddset(&set, signal);
  return set;
}

void block_signals() {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalWatch::SignalWatch(std::function<void(int)> on_request, Words words,
                         std::function<void()> on_somebody_gone, std::function<void()> on_save)
    : on_request_(std::move(on_request)),
      words_(std::move(words)),
      on_somebody_gone_(std::move(on_somebody_gone)),
      on_save_(std::move(on_save)),
      parent_(getppid()) {
  block_signals();
  thread_ = std::thread([this] { watch(); });
}

SignalWatch::~SignalWatch() {
  done_ = true;
  thread_.join();
}

void SignalWatch::watch() {
  const sigset_t set = watched_signals();
  std::optional<Time> asked;
  int first = 0;
  bool orphan = false;
  while (!done_) {
    const timespec timeout{0, 100'000'000};
    const int signal = sigtimedwait(&set, nullptr, &timeout);
    if (signal < 0) continue;
    if (signal == somebody_is_gone) {
      if (on_somebody_gone_) on_somebody_gone_();
    } else if (signal == save_and_continue) {
      if (on_save_) on_save_();
    } else if (!asked) {
      asked = steady_now();
      first = signal;
      if (signal == SIGINT) say(words_.first);
      on_request_(signal);
      orphan = getppid() != parent_;
    } else if (signal == SIGTERM && !orphan && getppid() != parent_) {
      asked = steady_now();
      first = signal;
      orphan = true;
    } else if (signal != first || signal == SIGINT || steady_now() - *asked > same_request) {
      say("exiting immediately" + (words_.second ? ": " + words_.second() : ""));
      standard_error().settle(last_word);
      _exit(128 + signal);
    }
  }
}

}  // namespace steelyard
