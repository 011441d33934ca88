// How fast a device is at what training asks of it, as two figures: how fast it copies memory, which limits
// most ops, and how fast it multiplies matrices. They rank devices; what a model trains at is less
// (`steelyard profile` measures that).
#pragma once

namespace steelyard::nn {

struct DeviceSpeed {
  double copy_gb_s = 0;        // 10^9 bytes a second, read and written, in buffers that no cache holds
  double float32_gflop_s = 0;  // 10^9 additions and multiplications a second, of float32 matrices
};

// Of this processor: so many threads, each with buffers and matrices of its own, through the libraries that
// networks use. Each of the two figures takes so many seconds.
DeviceSpeed measure_cpu(unsigned threads, double seconds_each = 0.5);

}  // namespace steelyard::nn
