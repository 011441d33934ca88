// Chooses how many samples a device computes at once. Larger micro-batches use a device better, up to a point
// that depends on model and device, and take more memory.
#pragma once

#include <steelyard/model.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/cuda/cuda_network.h"

namespace steelyard::nn::cuda {

struct ChosenNetwork {
  std::unique_ptr<Network> network;
  // The times of all its sizes, largest first. Empty on the host executor, whose times mean nothing, and for
  // models that normalise shares, whose shares are not cut.
  std::vector<MicroBatchTime> times;
};

// A network whose micro-batches are as large as pays: doubling the size from 256 on must raise the rate by
// 3 % each time. Less than that if the device lacks memory, of which `reserved` bytes are left to others.
// Throws as Network() does.
ChosenNetwork choose_network(const Model& model, unsigned index, std::uint64_t reserved = 0);

// The most samples that are tried: a micro-batch of them stays below 128 MB, since several wait in the host's
// memory, but 256 are always tried.
std::uint32_t most_samples(const Model& model);
// The choice: `times` are of all sizes, largest first.
std::uint32_t fast_enough(const std::vector<MicroBatchTime>& times);

}  // namespace steelyard::nn::cuda
