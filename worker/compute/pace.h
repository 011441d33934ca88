// Pace: makes a thread work as if its processor were `slow` times slower, for experiments on equal machines.
//
// After work that took c seconds of processor time, rest() sleeps (slow - 1) c. It is the processor time that
// counts: what a co-tenant costs is not multiplied. Sleeps end late by what the kernel likes; the surplus is
// taken off the next ones. Belongs to one thread.
#pragma once

#include "core/time.h"

namespace steelyard {

class Pace {
 public:
  explicit Pace(double slow);  // >= 1; 1: rest() does nothing. Throws Failure (configuration)

  void begin();  // work begins here; what was done before does not count
  void rest();   // work since begin() or the last rest() is done

 private:
  double extra_;        // seconds to sleep for each second of work
  Duration worked_{0};  // the thread's clock at the last call
  Duration debt_{0};    // still to be slept; negative after sleeping too long
};

}  // namespace steelyard
