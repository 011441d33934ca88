// What the links of the workers cost, compared in every round (cost/exchange_cost.h).
//
// Needs the report of every worker of the round: only what one waited longer than the worker that waited
// least is its own link's doing. A worker pushes as much as it pulls, so what it waits for its parameters
// counts twice.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "balancing/cost/exchange_cost.h"
#include "balancing/cost/rules.h"
#include "balancing/policy/last_round.h"
#include "balancing/state.h"

namespace steelyard::balancing {

class Links {
 public:
  explicit Links(const Rules& rules = {}) : rules_(rules) {}

  // A round that all have reported. `after_rest`: the slots of those who had not worked for a while.
  void observe(const LastRound& round, const std::set<std::uint32_t>& after_rest);
  void forget_all_but(const std::set<std::uint32_t>& present);

  // To pull and to push, beyond what the best link takes.
  [[nodiscard]] double seconds(std::uint32_t slot) const;
  [[nodiscard]] bool changed(std::uint32_t slot) const;  // of late

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  Rules rules_;
  std::map<std::uint32_t, ExchangeCost> links_;  // by slot, where samples tell of it
};

}  // namespace steelyard::balancing
