// A product of matrices by a kernel of our own. What the host executor multiplies with, and what cuBLASLt is
// compared with on a device.
//
// A block computes a tile of 32 x 32 of c from strips of a and b that it brings to shared memory, so each
// number is fetched once for 32 uses; each of its 256 threads sums four numbers of the tile in registers.
#pragma once

#include "nn/cuda/products.h"

namespace steelyard::nn::cuda {

void tiled_product(Stream& stream, const Product& product);

}  // namespace steelyard::nn::cuda
