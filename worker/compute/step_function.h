// StepFunction: a level that changes with time, as a person writes it.
//
//   "4"                     always
//   "2, 6@10, 2@20"         2 at first, from second 10 on 6, from second 20 on 2 again
//   "2, 6@10, again@20"     the same over and over, every 20 seconds
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace steelyard {

class StepFunction {
 public:
  explicit StepFunction(double level) : steps_{{0, level}} {}
  // Nothing if it is not of the form above, if a level is not from `least` to `most`, or if times do not
  // rise.
  static std::optional<StepFunction> read(std::string_view text, double least, double most);

  [[nodiscard]] double at(double time_s) const;  // 0 or later
  [[nodiscard]] bool is_always(double level) const;

 private:
  struct Step {
    double from_s, level;
  };
  std::vector<Step> steps_;  // at least one, the first from 0 on
  double period_s_ = 0;      // time begins anew; 0: never
};

}  // namespace steelyard
