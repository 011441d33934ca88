#include "balancing/rescue/flexrr.h"

#include <algorithm>

namespace steelyard::balancing {
namespace {

// The share of its work that a worker does in this time at its usual speed, at most `most`.
double meanwhile(double since, double usual, double most) {
  return usual > 0 ? std::min(since / usual, most) : 0;
}

double done_by_now(const Standing& it) {
  return std::min(1.0, it.done + meanwhile(it.since, it.usual, 1.0 / FlexRR::parts));
}

// The worker with the least progress is helped by the one with the most: the pair furthest apart.
const Standing* last(const std::vector<Standing>& workers) {
  const Standing* found = nullptr;
  for (const Standing& it : workers) {
    if (it.may_be_cut && (found == nullptr || done_by_now(it) < done_by_now(*found))) found = &it;
  }
  return found;
}

const Standing* first(const std::vector<Standing>& workers, std::uint32_t but) {
  const Standing* found = nullptr;
  for (const Standing& it : workers) {
    if (!it.may_help || it.slot == but || it.done < FlexRR::checkpoint) continue;
    if (found == nullptr || it.done > found->done) found = &it;
  }
  return found;
}

}  // namespace

std::optional<WorkTransfer> FlexRR::next(const std::vector<Standing>& workers) {
  const Standing* helpee = last(workers);
  if (helpee == nullptr) return std::nullopt;
  const Standing* helper = first(workers, helpee->slot);
  if (helper == nullptr) return std::nullopt;
  const double done = done_by_now(*helpee), left = 1 - done;
  const double ahead = helper->done - done + meanwhile(helper->since, helpee->usual, 1 - checkpoint);
  if (ahead <= behind || left <= least) return std::nullopt;
  const double work = std::min(ahead, left) / 2;
  return WorkTransfer{helpee->slot, helper->slot, helper->free ? work : std::min(work, least)};
}

}  // namespace steelyard::balancing
