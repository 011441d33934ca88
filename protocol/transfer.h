// Transfer: a large object in parts, which the receiver requests a few at a time.
//
// At first one part is in flight, and one more with each arrival, up to `window`. So a slow connection never
// has more requests than it can carry, and the sender never queues more than the window. If no part arrives
// within the timeout, all requested parts count as lost, and again only one is in flight. The timeout is
// twice the longest recent time of a part, at least 2 s, and doubles with each repetition, so that few parts
// are sent twice on a slow or shared connection.
//
// Pure; used by all that load or gather state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/time.h"
#include "protocol/state_messages.h"

namespace steelyard {

inline constexpr std::size_t transfer_window = 8;  // parts, each a slice of at most 1 MB

class Transfer {
 public:
  static constexpr Duration shortest = std::chrono::seconds(2), longest = std::chrono::minutes(5);

  // `parts`: their number; they are numbered from 0.
  Transfer(std::size_t parts, std::size_t window)
      : window_(window), parts_(parts, Part::missing), asked_(parts) {}

  // Returns the parts to request now, often none.
  std::vector<std::size_t> ask(Time now);
  // A part has arrived. Returns false if it is a duplicate or does not exist; then only the time of the last
  // arrival changes.
  bool came(Time now, std::size_t part);
  // The connection broke: requested parts are lost and will be requested again at once.
  void restart();

  [[nodiscard]] bool complete() const { return arrived_ == parts_.size(); }
  [[nodiscard]] bool has(std::size_t part) const { return parts_.at(part) == Part::here; }
  [[nodiscard]] std::size_t arrived() const { return arrived_; }
  [[nodiscard]] std::size_t size() const { return parts_.size(); }

 private:
  enum class Part : std::uint8_t { missing, asked, here };
  void ask_anew();

  std::size_t window_;
  std::vector<Part> parts_;
  std::vector<Time> asked_;  // of each part: its first request
  std::size_t next_ = 0;     // no part below is missing
  std::size_t arrived_ = 0, in_flight_ = 0, allowed_ = 1;
  Time heard_;  // last arrival, or last request with none in flight
  Duration timeout_ = shortest;
};

// The parts of a model's state with these numbers: all slots of slice `first`, then of the next ones.
std::vector<StatePart> parts_of(const std::vector<std::size_t>& numbers, std::uint32_t first,
                                std::uint32_t slots);

}  // namespace steelyard
