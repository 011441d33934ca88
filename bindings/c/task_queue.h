// TaskQueue: hands one task at a time from the worker's compute thread to the caller of the C interface, and
// returns final ranges and the result.
//
// Threads: compute() and weight() on the compute thread. The functions for the caller on one thread; final()
// and wanted() on any thread.
#pragma once

#include <steelyard/engine.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"

namespace steelyard::c_api {

class TaskQueue {
 public:
  enum class Kind : std::uint8_t { train, evaluate, step, write_state, read_state };
  // The spans are valid until finish() or give_up().
  struct Task {
    Kind kind{};
    std::span<const float> parameters{};
    std::span<float> gradient{};  // of train
    std::vector<std::uint64_t> samples{};
    std::uint64_t epoch = 0, position = 0;  // of the first sample
    std::uint64_t version = 0;              // of the last three kinds
    std::string path{};                     // of write_state and read_state
  };

  // ---- for the compute thread

  // Offers the task and blocks until the caller has finished it or given it up. Calls `on_final` on this
  // thread. The result is meaningless if `samples` are not wanted, or after leave() or close(). Throws
  // Failure (usage) if the caller gave up a task that is still wanted.
  nn::Sums compute(Task task, Samples& samples, const FinalRange& on_final);
  // The same for a task without samples. Returns at once after close().
  void run(Task task);
  [[nodiscard]] std::optional<double> weight() const;

  // ---- for the caller

  // Waits for a task and returns it, each task once. Null at the deadline, after wake(), or if closed().
  const Task* take(Time deadline);
  void weigh(double weight);
  void final(std::uint64_t begin, std::uint64_t end);
  bool wanted();
  void finish(const nn::Sums& sums);
  void give_up();  // abandons the task that was taken, if any
  void wake();     // makes the current or next take() return at once

  // ---- for any thread

  // The worker leaves the job or ends it; tasks may now be given up.
  void leave();
  void close();  // no more tasks; the current one is given up when the caller requests the next
  [[nodiscard]] bool closed() const;

 private:
  enum class State { empty, laid, taken, done, given_up };

  mutable std::mutex mutex_;
  std::condition_variable for_caller_, for_engine_;
  State state_ = State::empty;
  Task task_;
  Samples* samples_ = nullptr;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> final_;  // not yet passed to `on_final`
  std::optional<double> weight_;
  bool begun_final_ = false, alive_ = false, leaving_ = false, closed_ = false, woken_ = false;
  nn::Sums sums_;
};

// An engine that computes through `task_queue`, which must outlive it.
std::unique_ptr<Engine> engine_of(TaskQueue& task_queue);

}  // namespace steelyard::c_api
