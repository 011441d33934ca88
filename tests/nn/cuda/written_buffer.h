// A buffer of a device, written by a stream, for tests.
#pragma once

#include <algorithm>
#include <memory>

#include "nn/cuda/device_values.h"
#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

// All its numbers are `value`. `source` has the size of the pool's buffers, and outlives the stream's work.
inline std::shared_ptr<DeviceBuffer> written_buffer(DevicePool& pool, Stream& stream,
                                                    PinnedArray<float>& source, float value) {
  const std::shared_ptr<DeviceBuffer> buffer = pool.take(stream);
  std::fill_n(source.data(), source.size(), value);
  stream.copy_array(buffer->values().data(), source.data(), source.size());
  buffer->written(stream);
  return buffer;
}

}  // namespace steelyard::nn::cuda
