#include "balancing/policy/split.h"

#include <algorithm>
#include <numeric>

#include "balancing/allocate/largest_remainder.h"
#include "core/stats.h"

namespace steelyard::balancing {
namespace {

constexpr double next_to_nothing = 1e-6;  // the weight of a known share of 0, which is no hole

}  // namespace

Split Split::of(const Request& request, std::vector<std::uint64_t> shares) {
  Split split;
  for (const WorkerView& worker : request.workers) split.slots.push_back(worker.slot);
  split.shares = std::move(shares);
  return split;
}

std::uint64_t Split::total() const { return std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}); }

bool Split::same_workers(const Request& request) const {
  return std::equal(slots.begin(), slots.end(), request.workers.begin(), request.workers.end(),
                    [](std::uint32_t slot, const WorkerView& worker) { return slot == worker.slot; });
}

bool Split::made_for(const Request& request) const {
  return same_workers(request) && total() == request.positions;
}

bool Split::fits(const Request& request, const std::vector<Bound>& bounds) const {
  if (!made_for(request)) return false;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] < bounds[i].least || shares[i] > bounds[i].most) return false;
  }
  return true;
}

std::vector<std::uint64_t> Split::adapted(const Request& request, const std::vector<Bound>& bounds) const {
  if (fits(request, bounds)) return shares;
  std::vector<double> weights;
  std::size_t next = 0;
  for (const WorkerView& worker : request.workers) {
    while (next < slots.size() && slots[next] < worker.slot) ++next;
    const bool known = next < slots.size() && slots[next] == worker.slot;
    weights.push_back(known ? std::max(static_cast<double>(shares[next]), next_to_nothing) : 0);
  }
  fill_with_mean(weights);
  return largest_remainder(weights, request.positions, bounds);
}

void Split::save(StateWriter& writer) const {
  writer.count(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) writer.count(slots[i]).count(shares[i]);
}

void Split::restore(StateReader& reader) {
  slots.clear(), shares.clear();
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    slots.push_back(static_cast<std::uint32_t>(reader.count(UINT32_MAX)));
    shares.push_back(reader.count(most_positions));
  }
}

std::set<std::uint32_t> slots_of(const Request& request) {
  std::set<std::uint32_t> slots;
  for (const WorkerView& worker : request.workers) slots.insert(worker.slot);
  return slots;
}

void fill_with_mean(std::vector<double>& values) {
  std::vector<double> known;
  std::copy_if(values.begin(), values.end(), std::back_inserter(known), [](double v) { return v > 0; });
  const double filling = known.empty() ? 1 : mean(known);
  for (double& value : values) {
    if (!(value > 0)) value = filling;
  }
}

double longest(const std::vector<Affine>& curves, const std::vector<std::uint64_t>& shares) {
  double time = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] > 0) time = std::max(time, curves[i](static_cast<double>(shares[i])));
  }
  return time;
}

}  // namespace steelyard::balancing
