// EventQueue: future events, earliest first; events of the same time in the order in which they were pushed.
//
// Three queues work as one. Events for the current time wait in a queue of their own; events not earlier than
// all pushed so far in another, since many delays are equal; the rest in a heap. Events stay where they were
// stored, in blocks; only keys are moved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/time.h"

namespace steelyard::sim {

template <class Event>
class EventQueue {
 public:
  // `at` must not be before the time of the last popped event.
  void push(Time at, Event event) {
    CHECK(at >= now_, "an event lies in the past");
    const Key key{at, sequence_++, free_place()};
    at_place(key.place) = std::move(event);
    if (at == now_) {
      at_once_.push_back(key.place);
    } else if (in_order_.empty() || in_order_.back().at <= at) {
      in_order_.push_back(key);
    } else {
      heap_.push_back(key);
      std::push_heap(heap_.begin(), heap_.end());
    }
  }

  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::size_t size() const { return at_once_.size() + in_order_.size() + heap_.size(); }

  // The time of the next event. The queue must not be empty.
  [[nodiscard]] Time next() const { return later_comes_first() ? first_later().at : now_; }

  Event pop() {
    const std::uint32_t place = next_place();
    free_.push_back(place);
    return std::move(at_place(place));
  }

  // Passes the next event to `take` in place, and then removes it. `take` may push.
  template <class Take>
  void consume(const Take& take) {
    const std::uint32_t place = next_place();
    take(at_place(place));
    free_.push_back(place);
  }

  // Time has advanced without an event of this queue. No event may be earlier than `now`.
  void advance(Time now) {
    if (now <= now_) return;
    CHECK(empty() || next() >= now, "advance() would skip an event");
    now_ = now;
  }

 private:
  static constexpr std::uint32_t block = 256;  // events

  struct Key {
    Time at;
    std::uint64_t sequence = 0;
    std::uint32_t place = 0;
    bool operator<(const Key& other) const {  // a heap's top is the greatest: here, the earliest
      return std::pair(at, sequence) > std::pair(other.at, other.sequence);
    }
  };

  std::uint32_t free_place() {
    if (free_.empty()) {
      if (places_ % block == 0) blocks_.push_back(std::make_unique<Event[]>(block));
      return places_++;
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    return place;
  }
  Event& at_place(std::uint32_t place) { return blocks_[place / block][place % block]; }

  // Whether the earliest event not for the current time is in the heap. At least one must exist.
  [[nodiscard]] bool from_heap() const {
    return in_order_.empty() || (!heap_.empty() && in_order_.front() < heap_.front());
  }
  [[nodiscard]] const Key& first_later() const { return from_heap() ? heap_.front() : in_order_.front(); }
  // Events for the current time were pushed after all earlier pushes for that time.
  [[nodiscard]] bool later_comes_first() const {
    if (at_once_.empty()) return true;
    return !(in_order_.empty() && heap_.empty()) && first_later().at == now_;
  }

  // Removes the key of the next event and prefetches the event after it: ten thousand events do not fit into
  // a cache.
  std::uint32_t next_place() {
    std::uint32_t place = 0;
    if (!later_comes_first()) {
      place = at_once_.front();
      at_once_.pop_front();
      if (!at_once_.empty()) __builtin_prefetch(&at_place(at_once_.front()));
      return place;
    }
    now_ = first_later().at;
    place = first_later().place;
    if (from_heap()) {
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    } else {
      in_order_.pop_front();
    }
    if (!in_order_.empty() || !heap_.empty()) __builtin_prefetch(&at_place(first_later().place));
    return place;
  }

  Time now_;
  std::uint64_t sequence_ = 0;
  std::deque<std::uint32_t> at_once_;  // places, as in keys
  std::deque<Key> in_order_;
  std::vector<Key> heap_;
  std::vector<std::unique_ptr<Event[]>> blocks_;
  std::uint32_t places_ = 0;  // in the blocks
  std::vector<std::uint32_t> free_;
};

}  // namespace steelyard::sim
