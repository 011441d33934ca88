#include "core/time.h"

#include <ctime>

namespace steelyard {

Time steady_now() { return Time{std::chrono::steady_clock::now().time_since_epoch()}; }

Duration thread_cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace steelyard
