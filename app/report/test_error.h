// The error of a model that predicts one number, in the units of its labels: the root mean squared error
// (RMSE) under loss mse, the mean absolute error (MAE) under mae. It follows from the test loss, which is
// that of scaled labels. With several labels, whose units differ, a run shows its test loss only.
#pragma once

#include <cmath>
#include <string>

#include "core/json.h"
#include "protocol/job.h"
#include "server/checkpoint/checkpoint.h"

namespace steelyard {

struct TestError {
  std::string name{};  // "RMSE" or "MAE"; empty: unknown
  double value = NAN;

  [[nodiscard]] bool known() const { return !name.empty() && std::isfinite(value); }
  [[nodiscard]] std::string text() const;  // of the value, with six digits
  friend bool operator==(const TestError&, const TestError&) = default;
};

// As the member "rmse" or "mae" of a line of rounds.jsonl, of result.json and of `steelyard runs --json`.
void add_error(Json& to,
               const TestError& error);  // only if its name is known; a value that is not finite: null
TestError error_in(const Json& json);

// The errors of one job.
class ErrorScale {
 public:
  ErrorScale() = default;  // of no job: errors are unknown
  ErrorScale(const Job& job, const SampleSource& source);
  [[nodiscard]] TestError of(double test_loss) const;

 private:
  std::string name_;
  double unit_ = 1;
};

}  // namespace steelyard
