// BoundedQueue: the queue through which threads exchange messages, so that state machines and hosts need no
// mutex. (BufferPool, LocalNetwork and ParallelEngine have a mutex each for their internal state.)
//
// push() blocks while the queue is full and returns false once it is closed. pop() returns nothing at the
// deadline, or if the queue is closed and empty. Items queued before close() can still be popped. The queue
// outlives all calls: the thread that pushed an item may still use it when the item is popped.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "core/time.h"

namespace steelyard {

template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  bool push(T value) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [&] { return items_.size() < capacity_ || closed_; });
    return add(std::move(value), lock);
  }

  // Never blocks: false if the queue is full or closed.
  bool try_push(T value) {
    std::unique_lock lock(mutex_);
    return items_.size() < capacity_ && add(std::move(value), lock);
  }

  std::optional<T> pop(Time deadline = Time::max()) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return !items_.empty() || closed_; };
    if (deadline == Time::max()) {
      not_empty_.wait(lock, ready);
    } else {
      not_empty_.wait_until(lock, std::chrono::steady_clock::time_point(deadline.since_origin), ready);
    }
    if (items_.empty()) return std::nullopt;
    std::optional<T> value(std::move(items_.front()));
    items_.pop_front();
    not_full_.notify_one();
    return value;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    not_full_.notify_all();
    not_empty_.notify_all();
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  // Unlocks first, so that the woken thread does not wait for the lock at once.
  bool add(T value, std::unique_lock<std::mutex>& lock) {
    if (closed_) return false;
    items_.push_back(std::move(value));
    lock.unlock();
    not_empty_.notify_one();
    return true;
  }

  const std::size_t capacity_;  // constant after construction
  mutable std::mutex mutex_;    // protects everything below
  std::condition_variable not_full_, not_empty_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace steelyard
