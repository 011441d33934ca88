// Uses of oneDNN other than convolutions: matrix products, and the control of its threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include "core/device_name.h"

namespace steelyard::nn::onednn {

// Every thread that runs oneDNN must call this first; otherwise OpenMP would spread its loops over all cores,
// and the threads of several networks would compete. Cheap; setting the environment inside main is too late.
void use_this_thread_only();

enum class Turn : bool { no, yes };

// A row-major matrix with rows `stride` floats apart; if turned, it is read as its transpose.
struct Operand {
  const float* data;
  std::uint64_t stride;
  Turn turn = Turn::no;
  bool weights = false;  // the parameters of the op, without gaps: one matrix for each Products
};

struct Extent {
  std::uint64_t rows, columns, depth;
};

// Whether the processor multiplies tiles of bfloat16 (AMX), several times as fast as vectors of it.
bool has_amx();

// The matrix products of one op. With bf16 the factors are converted in every call, which costs a sweep over
// them, weights only once until renew(); the product then takes half the time. For one thread.
class Products {
 public:
  explicit Products(Precision precision = Precision::float32);
  ~Products();

  // C = A B, or C = C + A B with `add`. A is rows x depth and B is depth x columns, both after turning; rows
  // of C are `stride` floats apart.
  void multiply(Extent extent, Operand a, Operand b, bool add, float* c, std::uint64_t stride);

  // The weights may have changed.
  void renew();

  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::string implementation() const;

 private:
  class Bf16;
  std::unique_ptr<Bf16> bf16_;  // null: float32
};

}  // namespace steelyard::nn::onednn
