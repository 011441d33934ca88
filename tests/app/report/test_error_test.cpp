#include "app/report/test_error.h"

#include <gmock/gmock.h>

namespace steelyard::test_error_test {
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

TEST(TestError, HasTheUnitsOfTheLabels) {
  EXPECT_EQ(ErrorScale(job_with("mse"), scaled_by({100})).of(0.25), (TestError{"RMSE", 50}));
  EXPECT_EQ(ErrorScale(job_with("mae"), scaled_by({100})).of(0.25), (TestError{"MAE", 25}));
}

TEST(TestError, IsUnknownWithoutOneUnit) {
  EXPECT_FALSE(ErrorScale().of(1).known());
  EXPECT_FALSE(ErrorScale(job_with("mse"), scaled_by({100, 2})).of(1).known()) << "two labels";
  EXPECT_FALSE(ErrorScale(job_with("bce"), scaled_by({1})).of(1).known());
  EXPECT_FALSE(ErrorScale(Job(), scaled_by({})).of(1).known());
  EXPECT_FALSE(ErrorScale(job_with("mse"), scaled_by({100})).of(NAN).known());
}

TEST(TestError, IsAMemberOfRecords) {
  for (const TestError& error : {TestError{"RMSE", 50}, TestError{"MAE", 0.125}}) {
    Json json = Json::object();
    add_error(json, error);
    EXPECT_EQ(json.size(), 1U);
    EXPECT_EQ(error_in(json), error);
  }
  Json json = Json::object();
  add_error(json, {});
  EXPECT_TRUE(json.empty());
  EXPECT_FALSE(error_in(json).known());
  EXPECT_FALSE(error_in(Json()).known());
}

}  // namespace
}  // namespace steelyard::test_error_test
