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
  struct Numbers {
    std::uint64_t size;
    nn::Storage storage;
    nn::cuda::DeviceMemory memory;
    // The address, as ops take it.
    [[nodiscard]] float* data() const { return static_cast<float*>(memory.data()); }
  };

  // Repeats the numbers up to `size`.
  Numbers filled(std::span<const float> with, std::uint64_t size, nn::Storage storage);
  Numbers poisoned(std::uint64_t size, nn::Storage storage);
  std::vector<float> fetched(const Numbers& from);
  void make_buffers(const OpCase& of, const OpRun& material);

  std::uint32_t samples_;
  nn::Storage storage_;  // of activations
  nn::cuda::Stream stream_;
  nn::cuda::Products products_;
  nn::cuda::DeviceArray<nn::cuda::BatchNumbers> numbers_;
  nn::cuda::DeviceArray<std::uint64_t> positions_;
  nn::cuda::Context context_;
  std::unique_ptr<nn::Op> op_;
  std::vector<Numbers> inputs_, d_inputs_, parameters_, d_parameters_;
  std::vector<Numbers> output_;  // its values, its gradient, and the op's workspace
  std::vector<const float*> input_values_, parameter_values_;
  std::vector<nn::InputGradient> to_inputs_;
  std::vector<float*> to_parameters_;
};

}  // namespace steelyard::bench
