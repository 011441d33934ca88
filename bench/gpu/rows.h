// The results of the program, as lines of tab-separated fields; script/gpu-check makes one table of them and
// of the results of PyTorch. Lines are flushed immediately.
#pragma once

#include <string>

namespace steelyard::bench {

// If `figure` is empty, `note` is the reason why it was not measured.
struct GpuRow {
  std::string what;    // "resnet18, 256 samples, bf16"
  std::string figure;  // "12345 samples/s"
  std::string beside;  // "61 % of copies"
  std::string note;
};

void print(const GpuRow& row);

// "1234", "12.3" or "0.123": three digits, or all digits before the point.
std::string short_number(double value);

}  // namespace steelyard::bench
