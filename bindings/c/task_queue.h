// TaskQueue: where the computing thread of a worker lays down a task, and a caller of the C interface takes
// it, works on it, and says what is final and what is done.
//
// Threads: compute() from the computing thread; close() from any; the caller's side from one thread, but for
// final() and wanted(), which any may call.
#pragma once

#include <steelyard/engine.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/time.h"

namespace steelyard::c_api {

class TaskQueue {
 public:
  // What the caller works on. The spans are valid until finish() or give_up().
  struct Task {
    std::span<const float> parameters;
    std::span<float> gradient;  // empty in an evaluation
    std::vector<std::uint64_t> samples;
    std::uint64_t epoch = 0, position = 0;  // of the first sample
  };

  // ---- the computing thread

  // Lays the task down and waits until the caller is done with it, or will never be. `on_final` is called on
  // this thread. What it returns means nothing if `samples` are not wanted, or after leave() or close().
  // Throws Failure (usage) for a task that was given up and is wanted.
  nn::Sums compute(Task task, Samples& samples, const FinalRange& on_final);
  [[nodiscard]] std::optional<double> weight() const;

  // ---- the caller

  // The next task, once; null if there is none until the deadline, if wake() was called, or no more
  // (closed()).
  const Task* take(Time deadline);
  void weigh(double weight);
  void final(std::uint64_t begin, std::uint64_t end);
  bool wanted();
  void finish(const nn::Sums& sums);
  void give_up();  // the task that was taken, if any
  void wake();     // take() returns at once, this time or the next

  // ---- any

  // The worker has been told to leave: what it owes is others', so a task may be given up.
  void leave();
  void close();  // no more tasks; the one under way is given up when the caller asks for the next
  [[nodiscard]] bool closed() const;

 private:
  enum class State { empty, laid, taken, done, given_up };

  mutable std::mutex mutex_;
  std::condition_variable for_caller_, for_engine_;
  State state_ = State::empty;
  Task task_;
  Samples* samples_ = nullptr;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> final_;  // told, and not passed on
  std::optional<double> weight_;
  bool begun_final_ = false, alive_ = false, leaving_ = false, closed_ = false, woken_ = false;
  nn::Sums sums_;
};

// The engine of such a worker. The task_queue outlives it.
std::unique_ptr<Engine> engine_of(TaskQueue& task_queue);

}  // namespace steelyard::c_api
