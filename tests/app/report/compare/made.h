// Made-up runs for tests of comparisons.
#pragma once

#include <functional>
#include <string>

#include "app/report/compare/compared_runs.h"
#include "core/error.h"

namespace steelyard {

// A run over 1000 samples; the test accuracy after each third is 50, 80 and 90 %.
inline Trial made_trial(double seconds, double percent = -1) {
  Trial trial;
  trial.seconds = seconds;
  trial.samples = 1000;
  trial.updates = 30;
  trial.percent_of_ideal = percent;
  if (percent >= 0) trial.efficiency = percent / 200;
  trial.accuracy = 0.9;
  trial.evaluations = {{seconds / 3, 10, 0.5}, {2 * seconds / 3, 20, 0.8}, {seconds, 30, 0.9}};
  return trial;
}

inline Trial failed_trial(const std::string& why) {
  Trial trial;
  trial.failure = why;
  return trial;
}

inline Comparison made_comparison() {
  Comparison comparison;
  comparison.kind = "job";
  comparison.name = "made";
  comparison.repeats = 3;
  comparison.seed = 7;
  comparison.target = 0.8;
  comparison.entries = {
      {equal_bsp, {made_trial(12, 50), made_trial(15, 40), made_trial(12, 50)}},
      {{"lb-bsp", "bsp", ""}, {made_trial(6, 90), made_trial(6, 92), made_trial(9, 94)}},
      {{"equal", "asp", ""}, {made_trial(3), failed_trial("it <broke>"), made_trial(6)}},
      {{"equal", "bsp", "fast"}, {made_trial(9), made_trial(9), made_trial(9)}},
  };
  return comparison;
}

}  // namespace steelyard
