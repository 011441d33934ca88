// Balancing alone, without a cluster: the shares of `lb-bsp` for three unequal workers, one of which becomes
// twice as slow. Policies depend on no network, model or data, so any of them can be tried in such a loop.
//
//   shares [POLICY]
//
// prints the shares of 512 samples and the time of each round: first equal shares, then the optimal ones, and
// after the change the way to the new optimum as the predictors follow the change.
//
//   round      a    b    c        ms
//       0    171  171  170     170.0
//       1    293  146   73      73.2
//       ...
//       5    293  146   73     146.5
//       6    279  155   78     139.5
//       ...
//      11    234  185   93     117.0
#include <algorithm>
#include <array>
#include <cstdio>

#include <steelyard/policy.h>

namespace {

constexpr std::uint64_t batch = 512;

// Milliseconds per sample of worker `slot`. From round 5 on, another process uses the machine of worker 0.
double cost(std::uint32_t slot, std::uint64_t round) {
  constexpr std::array<double, 3> alone{0.25, 0.5, 1.0};
  return alone[slot] * (slot == 0 && round >= 5 ? 2 : 1);
}

void play(steelyard::balancing::Policy& policy) {
  std::printf("round      a    b    c        ms\n");
  for (std::uint64_t round = 0; round < 12; ++round) {
    steelyard::balancing::Request request{round, batch, {}};
    for (std::uint32_t slot = 0; slot < 3; ++slot) request.workers.push_back({.slot = slot});
    const auto shares = policy.plan(request);
    double slowest = 0;
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      const double ms = cost(slot, round) * static_cast<double>(shares[slot]);
      policy.observe({.slot = slot, .round = round, .samples = shares[slot], .seconds = ms / 1e3});
      slowest = std::max(slowest, ms);
    }
    std::printf("%5d %6d %4d %4d %9.1f\n", static_cast<int>(round), static_cast<int>(shares[0]),
                static_cast<int>(shares[1]), static_cast<int>(shares[2]), slowest);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    play(*steelyard::balancing::make_policy(argc > 1 ? argv[1] : "lb-bsp"));
  } catch (const steelyard::Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return static_cast<int>(failure.code());
  }
}
