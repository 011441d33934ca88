// What we use of oneDNN beside convolutions: matrix products, and the rule of its threads.
#pragma once

#include <cstdint>

namespace steelyard::nn::onednn {

// Every thread that runs oneDNN calls this first: its loops would otherwise be spread over all cores by
// OpenMP, and the threads of several networks would fight for them. Cheap; setting the environment inside
// main is too late.
void use_this_thread_only();

enum class Turn : bool { no, yes };

// A row-major matrix whose rows lie `stride` floats apart; turned, it is read as its transpose.
struct Operand {
  const float* data;
  std::uint64_t stride;
  Turn turn = Turn::no;
};

struct Extent {
  std::uint64_t rows, columns, depth;
};

// C = A B, or C = C + A B with `add`. A is rows x depth and B is depth x columns, both after turning; the
// rows of C lie `stride` floats apart.
void multiply(Extent extent, Operand a, Operand b, bool add, float* c, std::uint64_t stride);

}  // namespace steelyard::nn::onednn
