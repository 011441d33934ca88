// The speed of a device for training, as two figures: memory copies, which limit most ops, and matrix
// products. They rank devices; a model trains at a lower speed (`steelyard profile` measures it).
#pragma once

namespace steelyard::nn {

struct DeviceSpeed {
  double copy_gb_s = 0;        // 10^9 bytes a second, read and written, in buffers larger than all caches
  double float32_gflop_s = 0;  // 10^9 additions and multiplications a second, of float32 matrices
};

}  // namespace steelyard::nn
