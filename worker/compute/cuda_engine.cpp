#include "worker/compute/cuda_engine.h"

#include "core/error.h"

namespace steelyard {

std::unique_ptr<Engine> make_cuda_engine(const nn::Model&, const Device& device, Precision) {
  throw Failure(ExitCode::configuration, "device \"" + name(device) +
                                             "\": this release lists GPUs and does not compute on them yet: "
                                             "choose \"cpu\"");
}

}  // namespace steelyard
