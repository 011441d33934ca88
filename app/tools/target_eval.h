// Evaluation of a model that takes targets: numbers (NumberMetrics), or answers of 0 and 1, each of them as a
// classifier of two classes (ClassMetrics).
#pragma once

#include <string>
#include <vector>

#include "app/tools/scoring.h"
#include "nn/loss.h"

namespace steelyard {

struct TargetResult {
  nn::Sums sums{};
  std::string text{};  // lines of metrics for the user, below the loss
};

// Throws Failure (io) if a sample of the file `path` has no targets. `path`: empty for the job's test set.
TargetResult evaluate_targets(const ScoringTask& task, const std::string& path);

}  // namespace steelyard
