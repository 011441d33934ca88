// For a build without cuDNN's front end (cmake/FindCUDNN.cmake).
#include "nn/cuda/attention.h"

namespace steelyard::nn::cuda {

LibraryAttention make_library_attention(const Attention& /*op*/, const OpPlace& /*place*/,
                                        const Context& /*context*/) {
  return {nullptr, "built without cuDNN's front end"};
}

}  // namespace steelyard::nn::cuda
