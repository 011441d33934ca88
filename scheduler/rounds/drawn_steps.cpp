#include "scheduler/rounds/drawn_steps.h"

#include <algorithm>

#include "core/check.h"
#include "core/random.h"

namespace steelyard {
namespace {

constexpr double little_slower = 1.0 / 8;

double probability(std::uint64_t share, std::uint64_t largest) {
  const double p = static_cast<double>(share) / static_cast<double>(largest);
  return share + 1 >= largest && p >= 1 - little_slower ? 1 : p;
}

}  // namespace

// In the last slot there may be fewer batches than are drawn, so each slot begins with another worker.
std::vector<std::uint64_t> drawn_steps(std::span<const std::uint64_t> shares, std::uint64_t batches,
                                       std::uint64_t seed) {
  const std::uint64_t largest = shares.empty() ? 0 : std::ranges::max(shares), workers = shares.size();
  CHECK(largest > 0, "somebody takes a step in every slot");
  std::vector<std::uint64_t> steps(workers);
  for (std::uint64_t slot = 0; batches > 0; ++slot) {
    const std::uint64_t first = hash(seed, slot) % workers;
    for (std::uint64_t i = 0; i < workers && batches > 0; ++i) {
      const std::uint64_t worker = (first + i) % workers;
      if (unit(hash(seed, slot, worker)) >= probability(shares[worker], largest)) continue;
      ++steps[worker];
      --batches;
    }
  }
  return steps;
}

}  // namespace steelyard
