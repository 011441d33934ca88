// Transfer: the parts of something large, requested a few at a time by the receiver.
//
// One part is in flight to begin with, and one more with each that comes, up to `window`: so a slow line is
// never asked for more than it has shown to carry, and the sender never has more than the window waiting to
// leave. When nothing comes for longer than a time-out, all that was asked for counts as lost and the window
// is one again. The time-out is twice the longest that a part took to come lately, 2 s at least, and doubles
// with each repetition: on a line that is merely slow, or that others fill too, little is sent twice.
//
// Pure; part of the shard (which loads) and of the checkpointer (which gathers).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

inline constexpr std::size_t transfer_window = 8;  // parts, each a slice of at most 1 MB

class Transfer {
 public:
  static constexpr Duration shortest = std::chrono::seconds(2), longest = std::chrono::minutes(5);

  // `parts` of them, numbered from 0.
  Transfer(std::size_t parts, std::size_t window)
      : window_(window), parts_(parts, Part::missing), asked_(parts) {}

  // Which parts to ask for now: mostly none. Those that were asked for may also never come.
  std::vector<std::size_t> ask(Time now);
  // A part is here. False if it was before, or is none: nothing changes but the time of the last sign of
  // life.
  bool came(Time now, std::size_t part);
  // The connection broke: what was on its way is gone, and is asked for again at once.
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
  std::vector<Time> asked_;  // of each part: when it was first asked for
  std::size_t next_ = 0;     // no part below is missing
  std::size_t arrived_ = 0, in_flight_ = 0, allowed_ = 1;
  Time heard_;  // when a part last came, or was asked for with none in flight
  Duration timeout_ = shortest;
};

// The parts of a model's state with these numbers: slots slice by slice, from the slice `first` on.
std::vector<StatePart> parts_of(const std::vector<std::size_t>& numbers, std::uint32_t first,
                                std::uint32_t slots);

}  // namespace steelyard
