// Accidents and lasting changes: what a measured time says that lies far from its prediction.
//
//  - A time within 2.5 deviations is followed.
//  - A time more than 4 deviations off is held back. If the next one is odd on the same side, the change has
//    lasted and both are followed; otherwise the first was an accident.
//  - A time in between is followed, and remembered as odd.
//  - With `believe` a far time is followed at once; the next one shows whether that was right.
#pragma once

#include <optional>

#include "balancing/state.h"

namespace steelyard::balancing {

class SuddenChange {
 public:
  // What the history has shown with this measurement: nothing, that a change lasted, that one was an accident.
  enum class Verdict { none, lasted, accident };

  struct Answer {
    bool follow = false;         // as any other measurement
    std::optional<double> jump{};// or: the logarithm of the time has changed by so much
    bool confirmed = false;      // the jump is the mean of two measurements that agree
    Verdict verdict = Verdict::none;
  };

  // `surprise`: ln(measured / predicted). `deviation`: of it, as predicted.
  Answer judge(double surprise, double deviation, bool believe);

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  struct Odd {
    double surprise;
    bool held;  // kept from the estimates
  };
  Verdict judge_believed(double surprise);

  std::optional<Odd> odd_;          // the last measurement, if it was odd
  std::optional<double> believed_;  // the surprise that was believed at once, in the last measurement
};

}  // namespace steelyard::balancing
