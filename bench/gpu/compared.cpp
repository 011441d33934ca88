#include "bench/gpu/compared.h"

#include <cmath>
#include <cstddef>

#include "bench/gpu/cases.h"
#include "bench/pairs.h"

namespace steelyard::bench {

double tolerance(Precision precision) {
  return precision == Precision::float32 ? 1e-4 : precision == Precision::tf32 ? 2e-3 : 2e-2;
}

void spoil_if_planted(std::span<float> result) {
  double length = 0;
  for (const float number : result) length += double{number} * number;
  if (must_spoil()) result[0] += static_cast<float>(1 + std::sqrt(length));
}

double relative_distance(std::span<const float> actual, std::span<const float> expected) {
  expect(actual.size() == expected.size(), "the result has another size");
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double wanted = expected[i];
    difference += (actual[i] - wanted) * (actual[i] - wanted);
    length += wanted * wanted;
  }
  return length > 0 ? std::sqrt(difference / length) : std::sqrt(difference);
}

}  // namespace steelyard::bench
