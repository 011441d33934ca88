// Replaces oneDNN in builds without it: plain loops for products, and the reference convolutions. Correct but
// slow; builds for script/gpu-check alone do without oneDNN.
#include <algorithm>

#include "core/check.h"
#include "nn/cpu/onednn.h"
#include "nn/cpu/storage.h"
#include "nn/op_table.h"

namespace steelyard::nn::onednn {

void use_this_thread_only() {}

class Products::Bf16 {};

Products::Products(Precision) {}
Products::~Products() = default;

// A row of C is a sum of rows of B, which a compiler vectorises unless B is turned.
void Products::multiply(Extent extent, Operand a, Operand b, bool add, float* c, std::uint64_t stride) {
  const std::uint64_t a_row = a.turn == Turn::yes ? 1 : a.stride, a_step = a.turn == Turn::yes ? a.stride : 1;
  const std::uint64_t b_row = b.turn == Turn::yes ? 1 : b.stride, b_step = b.turn == Turn::yes ? b.stride : 1;
  for (std::uint64_t i = 0; i < extent.rows; ++i) {
    float* const row = c + i * stride;
    if (!add) std::fill_n(row, extent.columns, 0.0F);
    for (std::uint64_t k = 0; k < extent.depth; ++k) {
      const float factor = a.data[i * a_row + k * a_step];
      const float* const from = b.data + k * b_row;
      for (std::uint64_t j = 0; j < extent.columns; ++j) row[j] += factor * from[j * b_step];
    }
  }
}

bool has_amx() { return false; }

void Products::renew() {}

std::uint64_t Products::bytes() const { return 0; }

std::string Products::implementation() const { return "plain loops"; }

}  // namespace steelyard::nn::onednn

namespace steelyard::nn::cpu {

// No activations are stored in bfloat16 without its products.
bool stores_bf16() { return false; }

std::unique_ptr<Op> make_stored_token_linear(const TokenLinear&, const OpPlace&) {
  CHECK(stores_bf16(), "activations are stored in bfloat16 without products of it");
  return nullptr;
}

std::unique_ptr<Op> make_onednn_conv2d(const Conv2d& op, const OpPlace& place) {
  return reference::make(op, place);
}

}  // namespace steelyard::nn::cpu
