// A product of matrices by a kernel of our own. What the host executor multiplies with, and what cuBLASLt is
// compared with on a device.
//
// A block computes a tile of 64 x 64 of c from strips of a and b that it brings to shared memory, so each
// number is fetched once for 64 uses; each of its 256 threads sums 4 x 4 numbers of the tile in registers,
// so that it reads eight numbers for sixteen products.
#pragma once

#include "nn/cuda/products.h"

namespace steelyard::nn::cuda {

void tiled_product(Stream& stream, const Product& product);

}  // namespace steelyard::nn::cuda
