#include "worker/compute/pace.h"

#include <cmath>
#include <string>
#include <thread>

#include "core/error.h"

namespace steelyard {

Pace::Pace(double slow) : extra_(slow - 1) {
  if (!std::isfinite(slow) || slow < 1) {
    throw Failure(ExitCode::configuration,
                  "worker: slow = " + std::to_string(slow) + ": give a number of at least 1 (1: full speed)");
  }
}

void Pace::begin() {
  if (extra_ > 0) worked_ = thread_cpu_time();
}

void Pace::rest() {
  if (extra_ == 0) return;
  // Only what this thread itself has used; a sleep uses next to nothing, so it does not feed on itself.
  debt_ += from_seconds(extra_ * seconds(thread_cpu_time() - worked_));
  if (debt_ > Duration{0}) {
    const Time asleep = steady_now();
    std::this_thread::sleep_for(debt_);
    debt_ -= steady_now() - asleep;
  }
  worked_ = thread_cpu_time();
}

}  // namespace steelyard
