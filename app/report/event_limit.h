// EventLimit: how much of what is told to people goes into a record in a minute. Notes come by themselves
// when something happens, so whoever makes things happen, a member that leaves and comes back a hundred times
// a second, must not fill disk and terminal with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/time.h"

namespace steelyard {

class EventLimit {
 public:
  // Bytes within a minute by this clock. Any minute touches two of those, and has less than a megabyte.
  static constexpr std::size_t most = 400'000;

  // False: there is no room for so many bytes in this minute; the event is counted.
  bool admits(std::size_t bytes, Time now) {
    if (!since_ || now - *since_ >= std::chrono::minutes(1)) {
      since_ = now;
      used_ = 0;
    }
    if (used_ + bytes > most) {
      ++left_out_;
      return false;
    }
    used_ += bytes;
    return true;
  }
  // What to say of the events that were left out before; nothing where there were none, or where there is
  // still no room.
  std::optional<std::string> left_out(Time now) {
    if (left_out_ == 0 || (used_ + room_for_that > most && now - *since_ < std::chrono::minutes(1)))
      return std::nullopt;
    return std::to_string(std::exchange(left_out_, 0)) +
           " events are left out here: a record takes 400 kB of them in a minute";
  }

 private:
  static constexpr std::size_t room_for_that = 4096;

  std::optional<Time> since_;  // this minute
  std::size_t used_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace steelyard
