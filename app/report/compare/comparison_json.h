// A comparison as JSON, with every run of it. Pure.
//
//   {"format":2,"comparisons":[{"kind","name","directory","seed","repeats","target","interrupted",
//     "methods":[{"policy","sync","alone","runs_good","runs_failed","runs_at_target","failure",
//       "seconds_to_target","updates_to_target","seconds","updates","samples_per_s","percent_of_ideal",
//       "accuracy","gain_on_equal","gain_on_alone",
//       "runs":[{"seed","failure","seconds","samples","updates","samples_per_s","percent_of_ideal",
//         "accuracy","directory","evaluations":[{"seconds","updates","accuracy"}]}]}]}]}
//
// Medians with their range are {"median","least","most"}; that of a gain is over the gains of single repeats.
// What is not known is null. `alone` is the worker of a method that is one device alone. Methods are in the
// order of the command line; runs in the order of repeats.
#pragma once

#include <string>
#include <vector>

#include "app/report/compare/comparison.h"

namespace steelyard {

std::string comparison_json(const std::vector<Comparison>& comparisons);

}  // namespace steelyard
