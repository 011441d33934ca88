// One op of the CUDA column with its own buffers on the device: forward and backward in training, with all
// gradients, grains of 32 samples. Outputs are NaN before. For one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/nn/op_run.h"
#include "core/device_name.h"
#include "nn/cuda/context.h"
#include "nn/cuda/runtime.h"
#include "nn/op_table.h"

namespace steelyard::bench {

class DeviceOp {
 public:
  // Inputs, parameters and the gradient of the output are those of `material` (reference column); its 32
  // samples are repeated up to `samples`.
  DeviceOp(const OpCase& of, const OpRun& material, std::uint32_t samples, Precision precision);

  // Adds both passes to the stream.
  void add_passes();
  // Waits for the stream. Otherwise as OpRun::results().
  [[nodiscard]] std::vector<OpResult> results();

  [[nodiscard]] nn::cuda::Stream& stream() { return stream_; }
  [[nodiscard]] nn::Traits traits() const { return op_->traits(); }
  [[nodiscard]] std::string implementation() const { return op_->implementation(); }

 private:
  using Floats = nn::cuda::DeviceArray<float>;

  // Repeats the numbers up to `size`.
  Floats filled(std::span<const float> with, std::uint64_t size);
  Floats poisoned(std::uint64_t size);
  std::vector<float> fetched(const Floats& from);
  void make_buffers(const OpCase& of, const OpRun& material);

  std::uint32_t samples_;
  nn::cuda::Stream stream_;
  nn::cuda::Products products_;
  nn::cuda::DeviceArray<nn::cuda::BatchNumbers> numbers_;
  nn::cuda::DeviceArray<std::uint64_t> positions_;
  nn::cuda::Context context_;
  std::unique_ptr<nn::Op> op_;
  std::vector<Floats> inputs_, d_inputs_, parameters_, d_parameters_;
  std::vector<Floats> output_;  // its values, its gradient, and the op's workspace
  std::vector<const float*> input_values_, parameter_values_;
  std::vector<nn::InputGradient> to_inputs_;
  std::vector<float*> to_parameters_;
};

}  // namespace steelyard::bench
