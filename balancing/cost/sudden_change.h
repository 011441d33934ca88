// Accidents and lasting changes: what a measured time says that lies far from its prediction.
//
//  - A time within 4 deviations of its prediction is followed.
//  - A time further off is held back. If the next one is too, on the same side, the change has lasted and
//    both are followed; otherwise the first was an accident.
//  - With `believe` a far time is followed at once; the next one shows whether that was right.
#pragma once

#include <optional>

#include "balancing/state.h"

namespace steelyard::balancing {

class SuddenChange {
 public:
  // What the history has shown with this measurement: nothing, that a change lasted, that one was an
  // accident.
  enum class Verdict { none, lasted, accident };

  struct Answer {
    bool follow = false;           // as any other measurement
    std::optional<double> jump{};  // or: the logarithm of the time has changed by so much
    bool confirmed = false;        // the jump is the mean of two measurements that agree
    Verdict verdict = Verdict::none;
  };

  // `surprise`: ln(measured / predicted). `deviation`: of it, as predicted.
  Answer judge(double surprise, double deviation, bool believe);

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  Verdict judge_believed(double surprise);

  std::optional<double> held_;      // the surprise of the last measurement, if it was held back
  std::optional<double> believed_;  // or if it was believed at once
};

}  // namespace steelyard::balancing
