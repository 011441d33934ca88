// What the program finds out, as lines of fields with tabs between them; script/gpu-check makes one table of
// them and of what PyTorch does. Lines go out at once.
#pragma once

#include <string>

namespace steelyard::bench {

// Without a figure `note` says why it was not measured.
struct GpuRow {
  std::string what;    // "resnet18, 256 samples, bf16"
  std::string figure;  // "12345 samples/s"
  std::string beside;  // "61 % of copies"
  std::string note;
};

void print(const GpuRow& row);

// "1234", "12.3" or "0.123": three digits or all before the point.
std::string short_number(double value);

}  // namespace steelyard::bench
