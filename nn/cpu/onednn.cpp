#include "nn/cpu/onednn.h"

#include <dnnl.h>
#include <omp.h>

#include "core/check.h"

namespace steelyard::nn::onednn {

void use_this_thread_only() { omp_set_num_threads(1); }

void multiply(Extent extent, Operand a, Operand b, bool add, float* c, std::uint64_t stride) {
  const auto letter = [](Turn turn) { return turn == Turn::yes ? 'T' : 'N'; };
  const auto size = [](std::uint64_t value) { return static_cast<dnnl_dim_t>(value); };
  const dnnl_status_t status =
      dnnl_sgemm(letter(a.turn), letter(b.turn), size(extent.rows), size(extent.columns), size(extent.depth),
                 1.0F, a.data, size(a.stride), b.data, size(b.stride), add ? 1.0F : 0.0F, c, size(stride));
  CHECK(status == dnnl_success, "oneDNN refused a matrix product");
}

}  // namespace steelyard::nn::onednn
