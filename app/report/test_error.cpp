#include "app/report/test_error.h"

#include <array>

#include "core/text.h"
#include "nn/loss.h"

namespace steelyard {
namespace {

struct ErrorName {
  const char *name, *key;
};
constexpr std::array error_names{ErrorName{"RMSE", "rmse"}, ErrorName{"MAE", "mae"}};

}  // namespace

std::string TestError::text() const { return printed("%.6g", value); }

void add_error(Json& to, const TestError& error) {
  for (const ErrorName& it : error_names) {
    if (error.name == it.name) to[it.key] = error.value;
  }
}

TestError error_in(const Json& json) {
  for (const ErrorName& it : error_names) {
    const auto found = json.is_object() ? json.find(it.key) : json.end();
    if (found != json.end() && found->is_number()) return {it.name, found->get<double>()};
  }
  return {};
}

ErrorScale::ErrorScale(const Job& job, const SampleSource& source) {
  const auto word = job.model_options.find("loss");
  const auto loss = word == job.model_options.end() ? std::nullopt : nn::loss_named(word->second);
  if (!loss || source.target_deviation.size() != 1) return;
  if (*loss == nn::Loss::mean_squared_error) name_ = error_names[0].name;
  if (*loss == nn::Loss::mean_absolute_error) name_ = error_names[1].name;
  unit_ = source.target_deviation[0];
}

TestError ErrorScale::of(double test_loss) const {
  if (name_.empty()) return {};
  return {name_, unit_ * (name_ == error_names[0].name ? std::sqrt(test_loss) : test_loss)};
}

}  // namespace steelyard
