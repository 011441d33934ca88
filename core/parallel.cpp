#include "core/parallel.h"

#ifdef STEELYARD_PLAIN_THREADS
#include <algorithm>
#include <thread>
#include <vector>
#else
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#endif

namespace steelyard {

#ifdef STEELYARD_PLAIN_THREADS

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp<std::size_t>(count / std::max<std::size_t>(grain, 1), 1, cores);
  std::vector<std::jthread> threads;
  for (std::size_t part = 1; part < parts; ++part) {
    threads.emplace_back([&, part] { body(part * count / parts, (part + 1) * count / parts); });
  }
  body(0, count / parts);
}

#else

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, grain == 0 ? 1 : grain),
                    [&](const tbb::blocked_range<std::size_t>& part) { body(part.begin(), part.end()); });
}

#endif

}  // namespace steelyard
