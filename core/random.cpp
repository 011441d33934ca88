#include "core/random.h"

#include <cmath>
#include <numbers>

namespace steelyard {

double Random::normal() {
  // Box and Muller, 1958; the second value is not kept, so that one call is one step of the sequence pair.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace steelyard
