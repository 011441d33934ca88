#include "bench/gpu/timing.h"

#include <algorithm>
#include <vector>

#include "nn/cuda_devices.h"

namespace steelyard::bench {

using namespace nn::cuda;

bool measures() { return nn::built_with_cuda(); }

double median_seconds(Stream& stream, const std::function<void()>& add) {
  const std::uint64_t swept = measures() ? 512 << 20 : 1 << 10;
  const DeviceMemory sweep(swept);
  add();  // modules are loaded at first use, here and outside of the graph
  stream.synchronize();
  const Captured captured = capture(stream, add);
  Event begin, end;
  std::vector<double> readings;
  for (int i = 0; i < (measures() ? 21 : 1); ++i) {
    stream.fill_zero(sweep.data(), swept);
    begin.record(stream);
    if (captured.graph) {
      stream.run(*captured.graph);
    } else {
      add();
    }
    end.record(stream);
    stream.synchronize();
    readings.push_back(Event::seconds(begin, end));
  }
  std::ranges::nth_element(readings, readings.begin() + static_cast<std::ptrdiff_t>(readings.size() / 2));
  return readings[readings.size() / 2];
}

}  // namespace steelyard::bench
