#include "scheduler/members/rests.h"

#include <algorithm>

namespace steelyard {

bool rest(Members& members, std::uint32_t slot, Round round) {
  const auto worker = members.workers.find(slot);
  if (worker == members.workers.end()) return false;
  const auto works = [&](const auto& it) { return it.first != slot && it.second.working(); };
  if (std::ranges::none_of(members.workers, works)) return false;
  worker->second.rests_until = round + 1 + rest_rounds;
  return true;
}

void end_rests(Members& members, Round round) {
  for (auto& [slot, worker] : members.workers) {
    if (worker.rests_until && *worker.rests_until <= round) worker.rests_until.reset();
  }
}

bool end_rests_if_nobody_works(Time now, Members& members) {
  if (!members.working().empty()) return false;
  bool any = false;
  for (auto& [slot, worker] : members.workers) {
    any = any || worker.rests_until || worker.room.out();
    worker.rests_until.reset();
    if (worker.room.out()) worker.room.come_back(now);
  }
  return any;
}

}  // namespace steelyard
