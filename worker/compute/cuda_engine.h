// The engine of a model of nn on a CUDA device, or on the host executor that runs the same kernels.
#pragma once

#include <memory>

#include "core/device_name.h"
#include "core/precision.h"
#include "nn/model.h"
#include "worker/compute/engine.h"

namespace steelyard {

// `device` is one that is here (worker/compute/device_choice.h), and not the processor. Throws Failure
// (configuration) for what cannot be computed there.
std::unique_ptr<Engine> make_cuda_engine(const nn::Model& model, const Device& device, Precision precision);

}  // namespace steelyard
