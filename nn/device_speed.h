// How fast a device is at what training asks of it, as two figures: how fast it copies memory, which limits
// most ops, and how fast it multiplies matrices. They rank devices; what a model trains at is less
// (`steelyard profile` measures that).
#pragma once

namespace steelyard::nn {

struct DeviceSpeed {
  double copy_gb_s = 0;        // 10^9 bytes a second, read and written, in buffers that no cache holds
  double float32_gflop_s = 0;  // 10^9 additions and multiplications a second, of float32 matrices
};

}  // namespace steelyard::nn
