#include "bench/nn/fma_peak.h"

#include <cmath>

#include "bench/pairs.h"
#include "core/time.h"

namespace steelyard::bench {
namespace {

FmaLoop loop() {
  switch (cpu_level()) {
    case Level::v4:
      return v4::fma_loop;
    case Level::v3:
      return v3::fma_loop;
    case Level::baseline:
      break;
  }
  return baseline::fma_loop;
}

}  // namespace

double fma_gigaflops(double for_seconds) {
  constexpr std::uint64_t steps = 100000;
  double flops = 0, taken = 0;
  const Duration start = thread_cpu_time();
  while (taken < for_seconds) {
    expect(std::abs(loop()(steps, flops) - 2.0) < 1e-6, "FMA peak: the loop gives a wrong result");
    taken = seconds(thread_cpu_time() - start);
  }
  return flops * 1e-9 / taken;
}

}  // namespace steelyard::bench
