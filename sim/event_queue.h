// What is going to happen, earliest first; of what happens at one time, in the order in which it was said.
//
// Three lines stand for one. What is said to happen at once waits in a line of its own; what is said to
// happen not before anything said so far, in another one, for many delays are the same; the rest in a heap.
// Events stay where they were put, in blocks; only keys are moved.
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
  // `at` may not lie before the time of the event popped last.
  void push(Time at, Event event) {
    CHECK(at >= now_, "nothing happens in the past");
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

  // Of the next event. The queue is not empty.
  [[nodiscard]] Time next() const { return later_comes_first() ? first_later().at : now_; }

  Event pop() {
    const std::uint32_t place = next_place();
    free_.push_back(place);
    return std::move(at_place(place));
  }

  // Lets `take` have the next event where it lies, and then forgets it. `take` may push.
  template <class Take>
  void consume(const Take& take) {
    const std::uint32_t place = next_place();
    take(at_place(place));
    free_.push_back(place);
  }

  // Time has gone on without an event of this queue. Nothing in it may be earlier.
  void advance(Time now) {
    if (now <= now_) return;
    CHECK(empty() || next() >= now, "events are not passed over");
    now_ = now;
  }

 private:
  static constexpr std::uint32_t block = 256;  // events

  struct Key {
    Time at;
    std::uint64_t sequence = 0;
    std::uint32_t place = 0;
    bool operator<(const Key& other) const {  // a heap gives the greatest: the earliest is that
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

  // Of what was not said to happen at once, there being some: the earliest.
  [[nodiscard]] bool from_heap() const {
    return in_order_.empty() || (!heap_.empty() && in_order_.front() < heap_.front());
  }
  [[nodiscard]] const Key& first_later() const { return from_heap() ? heap_.front() : in_order_.front(); }
  // What is said for now was said after all that had been said for this time before it came.
  [[nodiscard]] bool later_comes_first() const {
    if (at_once_.empty()) return true;
    return !(in_order_.empty() && heap_.empty()) && first_later().at == now_;
  }

  // Of the next event, which is on its way from now on. Ten thousand events do not fit a cache: the one
  // behind it may come while this one is looked at.
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
  std::deque<std::uint32_t> at_once_;  // places, as the keys have them
  std::deque<Key> in_order_;
  std::vector<Key> heap_;
  std::vector<std::unique_ptr<Event[]>> blocks_;
  std::uint32_t places_ = 0;  // in the blocks
  std::vector<std::uint32_t> free_;
};

}  // namespace steelyard::sim
