// Pace: makes a thread work as if its machine were slower than it is, or used by others at times, for
// experiments on equal machines.
//
// After work that took c seconds of processor time, rest() sleeps (slow / cpu - 1) c, with the levels that
// hold when it is called. It is the processor time that counts: what a real co-tenant costs is not
// multiplied. Sleeps end late by what the kernel likes; the surplus is taken off the next ones. Belongs to
// one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"
#include "worker/compute/staircase.h"

namespace steelyard {

// What is pretended. The difference is what a worker tells of it: of a slower machine nothing, of the share
// of its processor what a machine's own counters would say.
struct Handicap {
  Staircase slow{1};  // computing takes so many times as long: 1 to 1000
  Staircase cpu{1};   // share of the processor that others leave: 0.01 to 1

  // As they are written (worker/compute/staircase.h). Throws Failure (configuration).
  static Handicap parse(const std::string& slow, const std::string& cpu);
  static bool is_slow(std::string_view text);
  static bool is_cpu(std::string_view text);
  static const std::string& slow_expected();  // each ends a message that begins with "give"
  static const std::string& cpu_expected();
};

class Pace {
 public:
  explicit Pace(Handicap handicap);  // its time counts from the first begin()

  void begin();  // work begins here; what was done before does not count
  void rest();   // work since begin() or the last rest() is done

  // The mean of `cpu` over the time of work since the last call; nothing if no other is pretended.
  std::optional<double> take_cpu();

 private:
  const Handicap handicap_;
  const bool none_;             // full speed: there is nothing to do
  std::optional<Time> first_;   // when work began for the first time
  Time part_{};                 // when this part of it did
  Duration worked_{0};          // the thread's clock at the last call
  Duration debt_{0};            // still to be slept; negative after sleeping too long
  double left_ = 0, time_ = 0;  // of take_cpu(): the sum of cpu times time, and of time
};

}  // namespace steelyard
