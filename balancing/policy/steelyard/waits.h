// For whom the rounds wait, and what that worker is worth (cost/waited_for.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "balancing/cost/affine.h"
#include "balancing/cost/waited_for.h"
#include "balancing/policy/last_round.h"
#include "balancing/state.h"

namespace steelyard::balancing {

class Waits {
 public:
  // A round that all have reported: for the slowest worker, how long the others waited for it; for each, how
  // long the others would have needed for its samples. Memory limits are not looked at. `curves` and
  // `link_seconds` are in the order of the request.
  void observe(const Request& request, const LastRound& round, const std::vector<Affine>& curves,
               const std::vector<double>& link_seconds);
  void doubt(std::uint32_t slot) { waited_[slot].doubt(); }  // it is to be seen again whether it is late
  void forget_all_but(const std::set<std::uint32_t>& present);

  // Seconds a round: what the others surely wait for it alone, and would need for its share, on average.
  [[nodiscard]] double surely(std::uint32_t slot) const;
  [[nodiscard]] double worth(std::uint32_t slot) const;

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  std::map<std::uint32_t, WaitedFor> waited_;  // by slot, of those that worked
};

}  // namespace steelyard::balancing
