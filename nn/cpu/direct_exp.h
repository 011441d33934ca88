// The exponential of a vector, for kernels only: to within 2 units in the last place, from a power of two
// and a polynomial (Cephes' expf). Below -87.3 it is zero, above 88.4 infinite; NaN stays NaN.
#pragma once

#include "nn/cpu/direct_vector.h"

namespace steelyard::nn::direct::STEELYARD_LEVEL {

[[gnu::always_inline]] inline Vector exponential(Vector x) {
  const Vector lowest = broadcast(-87.3F), highest = broadcast(89.0F);
  const Vector inside = x > highest ? highest : x;
  // Adding this number rounds to an integer, which is then in the lowest bits.
  const Vector rounder = broadcast(12582912.0F);
  const Vector shifted = inside * 1.44269504F + rounder;
  const Vector power = shifted - rounder;
  const Vector r = inside - power * 0.693359375F - power * -2.12194440e-4F;
  Vector sum = r * 1.9875691500e-4F + 1.3981999507e-3F;
  sum = sum * r + 8.3334519073e-3F;
  sum = sum * r + 4.1665795894e-2F;
  sum = sum * r + 1.6666665459e-1F;
  sum = sum * r + 5.0000001201e-1F;
  sum = sum * (r * r) + r + 1.0F;
  const Vector scale = reinterpret_cast<Vector>((reinterpret_cast<Mask>(shifted) + 127) << 23);
  return inside < lowest ? Vector{} : sum * scale;
}

}  // namespace steelyard::nn::direct::STEELYARD_LEVEL
