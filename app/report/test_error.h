// The error of a model that predicts one number, in the units of its labels: the root mean squared error
// (RMSE) under loss mse, the mean absolute error (MAE) under mae. With several labels, whose units differ, a
// run shows its test loss only.
#pragma once

#include <cmath>
#include <string>

#include "core/json.h"

namespace steelyard {

struct TestError {
  static constexpr const char *squared = "RMSE", *absolute = "MAE";
  std::string name{};  // one of these; empty: unknown
  double value = NAN;

  [[nodiscard]] bool known() const { return !name.empty() && std::isfinite(value); }
  [[nodiscard]] std::string text() const;  // of the value, with six digits
  friend bool operator==(const TestError&, const TestError&) = default;
};

// As the member "rmse" or "mae" of a line of rounds.jsonl, of result.json and of `steelyard runs --json`.
void add_error(Json& to,
               const TestError& error);  // only if its name is known; a value that is not finite: null
TestError error_in(const Json& json);

}  // namespace steelyard
