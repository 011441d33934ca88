#include "app/report/error_scale.h"

#include <gtest/gtest.h>

namespace steelyard::error_scale_test {
namespace {

Job job_with(const char* loss) {
  Job job;
  job.model_options["loss"] = loss;
  return job;
}
SampleSource scaled_by(std::vector<double> deviation) {
  SampleSource source;
  source.target_mean.assign(deviation.size(), 7);
  source.target_deviation = std::move(deviation);
  return source;
}

TEST(ErrorScale, GivesTheUnitsOfTheLabels) {
  EXPECT_EQ(ErrorScale(job_with("mse"), scaled_by({100})).of(0.25), (TestError{"RMSE", 50}));
  EXPECT_EQ(ErrorScale(job_with("mae"), scaled_by({100})).of(0.25), (TestError{"MAE", 25}));
}

TEST(ErrorScale, GivesNoneWithoutOneUnit) {
  EXPECT_FALSE(ErrorScale().of(1).known());
  EXPECT_FALSE(ErrorScale(job_with("mse"), scaled_by({100, 2})).of(1).known()) << "two labels";
  EXPECT_FALSE(ErrorScale(job_with("bce"), scaled_by({1})).of(1).known());
  EXPECT_FALSE(ErrorScale(Job(), scaled_by({})).of(1).known());
  EXPECT_FALSE(ErrorScale(job_with("mse"), scaled_by({100})).of(NAN).known());
}

}  // namespace
}  // namespace steelyard::error_scale_test
