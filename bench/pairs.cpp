#include "bench/pairs.h"

#include <algorithm>

#include "core/text.h"

namespace steelyard::bench {

void expect(bool right, const std::string& what) {
  if (!right) throw WrongResult(what);
}

std::vector<Spread> alternate(unsigned pairs, const std::vector<std::function<double()>>& sides) {
  std::vector<std::vector<double>> readings(sides.size());
  for (unsigned pair = 0; pair < pairs; ++pair) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const std::size_t side = pair % 2 == 0 ? i : sides.size() - 1 - i;
      readings[side].push_back(sides[side]());
    }
  }
  std::vector<Spread> spreads;
  for (const auto& values : readings) {
    const auto [lowest, highest] = std::ranges::minmax(values);
    spreads.push_back({median(values), lowest, highest});
  }
  return spreads;
}

}  // namespace steelyard::bench
