// Refusals: which of them are worth a note. Whoever is refused may ask again a thousand times a second, so
// people read of each node and reason once, and of all others how many they were, once a minute.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

class Refusals {
 public:
  // Notes of their own in one minute, and nodes with a reason that are remembered.
  static constexpr std::size_t most_noted = 32;

  // The note of this refusal; nothing: it is counted.
  std::optional<std::string> refused(Time now, NodeId who, const Refuse& refuse);
  // The note of those that were counted, when a minute is over.
  std::optional<std::string> due(Time now);

 private:
  friend struct SchedulerFields;
  std::set<std::pair<NodeId, std::uint8_t>> noted_;  // with the reason
  std::optional<Time> since_;                        // this minute
  std::uint64_t more_ = 0;                           // in it, without a note
  std::string last_;                                 // of them
};

}  // namespace steelyard
