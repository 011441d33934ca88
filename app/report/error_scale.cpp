#include "app/report/error_scale.h"

#include <cmath>

#include "nn/loss.h"

namespace steelyard {

ErrorScale::ErrorScale(const Job& job, const SampleSource& source) {
  const auto word = job.model_options.find("loss");
  const auto loss = word == job.model_options.end() ? std::nullopt : nn::loss_named(word->second);
  if (!loss || source.target_deviation.size() != 1) return;
  if (*loss == nn::Loss::mean_squared_error) name_ = TestError::squared;
  if (*loss == nn::Loss::mean_absolute_error) name_ = TestError::absolute;
  unit_ = source.target_deviation[0];
}

TestError ErrorScale::of(double test_loss) const {
  if (name_.empty()) return {};
  return {name_, unit_ * (name_ == TestError::squared ? std::sqrt(test_loss) : test_loss)};
}

}  // namespace steelyard
