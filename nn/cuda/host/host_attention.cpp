// The host executor has no library.
#include "nn/cuda/attention.h"

namespace steelyard::nn::cuda {

LibraryAttention make_library_attention(const Attention& /*op*/, const OpPlace& /*place*/,
                                        const Context& /*context*/) {
  return {};
}

}  // namespace steelyard::nn::cuda
