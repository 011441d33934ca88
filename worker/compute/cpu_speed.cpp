#include "worker/compute/cpu_speed.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "core/buffer.h"
#include "core/time.h"
#include "nn/cpu/onednn.h"

namespace steelyard {
namespace {

constexpr std::uint64_t bytes_of_all = 512U << 20;  // source and target, all threads together: more than
                                                    // caches hold
constexpr std::uint64_t least_bytes = 4U << 20;     // per thread
constexpr std::uint64_t matrix_side = 512;          // matrices of 1 MB each

// The sum over threads of the work per second. `make` prepares a thread and returns a function that does one
// unit of work and returns its amount.
using Pass = std::function<double()>;
double rate(unsigned threads, Duration time, const std::function<Pass()>& make) {
  std::vector<double> rates(threads);
  std::vector<std::thread> crew;
  for (double& mine : rates) {
    crew.emplace_back([&mine, &make, time] {
      const Pass work = make();
      (void)work();  // touches pages and caches, and completes all initialization on first use
      const Time begin = steady_now();
      double done = 0;
      Duration took{0};
      do {
        done += work();
        took = steady_now() - begin;
      } while (took < time);
      mine = done / seconds(took);
    });
  }
  for (std::thread& each : crew) each.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

Pass copying(std::uint64_t about_bytes) {
  const std::uint64_t floats = about_bytes / sizeof(float), bytes = floats * sizeof(float);
  auto from = std::make_shared<FloatBuffer>(floats);
  auto to = std::make_shared<FloatBuffer>(floats);
  std::ranges::fill(from->span(), 1.0F);
  return [from, to, bytes] {
    std::memcpy(to->data(), from->data(), bytes);
    return 2 * static_cast<double>(bytes);
  };
}

Pass multiplying() {
  nn::onednn::use_this_thread_only();
  struct Factors {
    FloatBuffer a{matrix_side * matrix_side}, b{matrix_side * matrix_side}, c{matrix_side * matrix_side};
    nn::onednn::Products products;
  };
  auto it = std::make_shared<Factors>();
  std::ranges::fill(it->a.span(), 1.0F);
  std::ranges::fill(it->b.span(), 1.0F);
  return [it] {
    it->products.multiply({matrix_side, matrix_side, matrix_side}, {it->a.data(), matrix_side},
                          {it->b.data(), matrix_side}, false, it->c.data(), matrix_side);
    return 2.0 * matrix_side * matrix_side * matrix_side;
  };
}

}  // namespace

nn::DeviceSpeed measure_cpu(unsigned threads, double seconds_each) {
  const std::uint64_t bytes = std::max(least_bytes, bytes_of_all / 2 / threads);
  constexpr double giga = 1e9;
  const Duration each = from_seconds(seconds_each);
  return {rate(threads, each, [bytes] { return copying(bytes); }) / giga,
          rate(threads, each, multiplying) / giga};
}

}  // namespace steelyard
