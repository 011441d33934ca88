// What is going to happen, earliest first; of what happens at one time, in the order in which it was said.
//
// What is said to happen at once goes into a line of its own instead of the heap. That keeps the order: the
// heap's entries for the same time were said when that time was still to come, so they go first. Events stay
// where they were put; only keys are moved by the heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/time.h"

namespace steelyard::sim {

template <class Event>
class EventQueue {
 public:
  // `at` may not lie before the time of the event popped last.
  void push(Time at, Event event) {
    CHECK(at >= now_, "nothing happens in the past");
    const std::uint32_t place = keep(std::move(event));
    if (at == now_) {
      at_once_.push_back(place);
      return;
    }
    keys_.push_back({at, sequence_++, place});
    std::push_heap(keys_.begin(), keys_.end());
  }

  [[nodiscard]] bool empty() const { return at_once_.empty() && keys_.empty(); }
  [[nodiscard]] std::size_t size() const { return at_once_.size() + keys_.size(); }

  // Of the next event. The queue is not empty.
  [[nodiscard]] Time next() const { return from_heap() ? keys_.front().at : now_; }

  Event pop() {
    const std::uint32_t place = next_place();
    free_.push_back(place);
    return std::move(events_[place]);
  }

  // Lets `take` have the next event where it lies, and then forgets it. `take` may push.
  template <class Take>
  void consume(const Take& take) {
    const std::uint32_t place = next_place();
    take(events_[place]);
    free_.push_back(place);
  }

  // Time has gone on without an event of this queue. Nothing in it may be earlier.
  void advance(Time now) {
    if (now <= now_) return;
    CHECK(empty() || next() >= now, "events are not passed over");
    now_ = now;
  }

 private:
  std::uint32_t keep(Event event) {
    if (free_.empty()) {
      events_.push_back(std::move(event));
      return static_cast<std::uint32_t>(events_.size() - 1);
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    events_[place] = std::move(event);
    return place;
  }

  // Of the next event, which is on its way from now on.
  std::uint32_t next_place() {
    if (!from_heap()) {
      const std::uint32_t place = at_once_.front();
      at_once_.pop_front();
      // Ten thousand events do not fit a cache: the next one may come while this one is looked at.
      if (!at_once_.empty()) __builtin_prefetch(&events_[at_once_.front()]);
      return place;
    }
    std::pop_heap(keys_.begin(), keys_.end());
    const Key key = keys_.back();
    keys_.pop_back();
    now_ = key.at;
    if (!keys_.empty()) __builtin_prefetch(&events_[keys_.front().place]);
    return key.place;
  }

  struct Key {
    Time at;
    std::uint64_t sequence = 0;
    std::uint32_t place = 0;
    bool operator<(const Key& other) const {  // a heap gives the greatest: the earliest is that
      return std::pair(at, sequence) > std::pair(other.at, other.sequence);
    }
  };
  [[nodiscard]] bool from_heap() const {
    return at_once_.empty() || (!keys_.empty() && keys_.front().at == now_);
  }

  Time now_;
  std::uint64_t sequence_ = 0;
  std::deque<std::uint32_t> at_once_;  // places, as the keys have them
  std::vector<Key> keys_;              // a heap
  std::deque<Event> events_;           // does not move what it holds
  std::vector<std::uint32_t> free_;
};

}  // namespace steelyard::sim
