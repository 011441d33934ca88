// The engines of built-in models: networks on the CPU and on a CUDA device.
#pragma once

#include <steelyard/engine.h>
#include <steelyard/model.h>

#include <functional>
#include <memory>
#include <optional>

#include "core/buffer.h"
#include "core/device_exchange.h"
#include "core/device_name.h"
#include "core/interval.h"
#include "nn/network.h"
#include "nn/optimizer/slice_arithmetic.h"
#include "protocol/job.h"

namespace steelyard {

// CpuEngine: a model of nn on one thread of a CPU.
class CpuEngine final : public Engine {
 public:
  // Throws Failure (configuration) if the model is incomplete.
  explicit CpuEngine(const nn::Model& model) : model_(model) { model_.check(); }

  nn::Sums train(std::span<const float> parameters, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override;
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override;
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override;
  [[nodiscard]] std::uint64_t bytes() const override;

 private:
  nn::Network& network();

  const nn::Model model_;
  std::optional<nn::Network> network_;  // made by the thread that runs it
};

// The memory of a device, in bytes, for the shards of a worker on it: two gradients of the whole model, and
// for the shards' part two versions, one that another process still reads, a sum and the optimizer's state.
std::uint64_t device_memory_for_shards(const Job& job, unsigned shards);

// The engine of a model of nn on a CUDA device, or on the host executor that runs the same kernels. `device`
// must exist on this machine (worker/compute/device_choice.h) and must not be the CPU. Leaves `reserved`
// bytes of its memory to others. `data`: whose samples it keeps if it can (worker/compute/kept_on_device.h);
// without sets: none. Throws Failure (configuration) for models that the device cannot compute.
std::unique_ptr<Engine> make_cuda_engine(const nn::Model& model, const Device& device, Precision precision,
                                         std::uint64_t reserved = 0, const DataSets& data = {});

// The arithmetic of a shard on such a device (nn/cuda/device_arithmetic.h): makes that of each slice of a
// shard with floats `own` of the model, on the shard's thread. `host`: of copies of versions.
using DeviceArithmetic =
    std::function<std::shared_ptr<nn::SliceArithmetic>(const Slice& place, Interval own)>;
DeviceArithmetic make_device_arithmetic(const Device& device, Memory host);

// For the links of this process: values in the memory of such a device, for other processes of the host. Call
// it before such values are made.
std::shared_ptr<DeviceExchange> make_device_exchange(const Device& device);

}  // namespace steelyard
