// IdleWorkers: notes workers to which the policy gives no samples: they wait, and users should know why.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "scheduler/members/members.h"
#include "scheduler/rounds/order.h"

namespace steelyard {

class IdleWorkers {
 public:
  static constexpr std::uint64_t noted_after = 10;  // rounds in a row

  // `policy`: its name, for the note.
  explicit IdleWorkers(std::string policy) : policy_(std::move(policy)) {}

  // A training round begins with these orders. Returns a note for each worker that is available and has got
  // no piece for ten rounds; once for each slot.
  [[nodiscard]] Orders begin(const Members& members, const Orders& orders);

 private:
  const std::string policy_;
  std::map<std::uint32_t, std::uint64_t> rounds_;  // by slot, how many in a row; counts stop at noted_after

 public:
  void serialize(auto& fields) { fields(rounds_); }
};

}  // namespace steelyard
