// RecorderThread: a Recorder on a thread of its own, so that a run directory or a terminal that hangs holds
// up neither the heartbeats nor the training.
//
// What is told waits in memory until it is recorded. Of training rounds so many may wait that they have a
// million workers' parts in them (about 100 MB: ten workers at ten rounds a second for hours); what is beyond
// is left out of rounds.jsonl and of the totals, and the summary says so. Of notes ten thousand may wait; the
// rest is dropped. Evaluations and the end are few and always kept.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "app/report/recorder.h"
#include "core/queue.h"
#include "core/time.h"

namespace steelyard {

class RecorderThread {
 public:
  static constexpr std::size_t usually_waiting = 1'000'000;  // parts, each round counting for one more
  static constexpr std::size_t most_notes = 10'000;

  // `recorder` is this thread's alone until finish() returns.
  explicit RecorderThread(Recorder& recorder, std::size_t most_waiting = usually_waiting);
  ~RecorderThread();  // as finish()
  RecorderThread(const RecorderThread&) = delete;
  RecorderThread& operator=(const RecorderThread&) = delete;

  void tell(ToRecorder message, Time now);  // never waits
  void finish();                            // waits until all is recorded

  // What `look` returns on the recorder's thread when all that was told is recorded. `look` may wait for the
  // disk; this does not. Nothing: it has not looked yet, or more was told since and it looks again.
  using Look = std::function<std::vector<std::byte>()>;
  std::optional<std::vector<std::byte>> seen_by(Look look);

 private:
  struct Told {
    ToRecorder message;
    Time now;
    std::size_t weight = 0;  // of what is limited
  };
  struct Seen {
    std::vector<std::byte> bytes;
    std::uint64_t told = 0;  // messages before
  };
  struct Looking {
    Look look;
    std::uint64_t told = 0;
  };
  void record();

  Recorder& recorder_;
  const std::size_t most_waiting_;
  std::atomic<std::size_t> waiting_{0}, notes_waiting_{0};
  std::atomic<std::uint64_t> left_out_{0};  // rounds
  std::uint64_t told_so_far_ = 0;           // messages, by the one thread that tells
  bool looking_ = false;
  BoundedQueue<std::variant<Told, Looking>> told_;
  BoundedQueue<Seen> seen_;
  std::thread thread_;
};

}  // namespace steelyard
