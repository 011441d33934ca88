// Some neighbouring channels of every place, from pictures of one number of channels to those of another.
#pragma once

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

struct Columns {
  std::uint32_t samples;
  std::uint64_t places;  // of a sample
  std::uint32_t count;   // channels that are moved
};

// to[s][p][c] = from[s][p][c] for the c below `count`, or += with `add`; from_row and to_row are the
// channels that the pictures have.
void copy_columns(Stream& stream, const Columns& columns, const float* from, std::uint32_t from_row, bool add,
                  float* to, std::uint32_t to_row);

}  // namespace steelyard::nn::cuda
