#include "app/config/prepare_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "protocol/limits.h"

namespace steelyard::prepare_job_test {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::size_t tensors, std::size_t dimensions) {
  ModelDescription model;
  for (std::size_t i = 0; i < tensors; ++i)
    append(model.layout, "w", std::vector<std::uint64_t>(i == 0 ? dimensions : 1, 1));
  model.train_samples = 1000;
  Job job;
  job.global_batch = 10;
  try {
    complete(job, model);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "";
}

// A job beyond the limits of messages is refused before any process is started.
TEST(PrepareJob, JobsTooLargeForAMessageAreRefused) {
  EXPECT_EQ(refusal(3, limits::dimensions), "");
  EXPECT_THAT(refusal(3, limits::dimensions + 1), HasSubstr("64 dimensions"));
  EXPECT_EQ(refusal(limits::tensors, 2), "");
  EXPECT_THAT(refusal(limits::tensors + 1, 2), HasSubstr("131072 tensors in a model"));
}

// A script takes the steps, so the workers must bring the model.
TEST(PrepareJob, StepsOfWorkersNeedTheirOwnModelAndWholeGradients) {
  ModelDescription model;
  append(model.layout, "w", {4});
  model.train_samples = 1000;
  const auto refusal_of = [&](const std::string& name, FloatCode pull) {
    Job job;
    job.global_batch = 10;
    job.model = name;
    job.optimizer.kind = nn::Optimizer::Kind::worker;
    job.pull_encoding = pull;
    try {
      complete(job, model);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration);
      return std::string(failure.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal_of(external_model, FloatCode::float32), "");
  EXPECT_THAT(refusal_of("mlp", FloatCode::float32),
              ::testing::AllOf(HasSubstr("optimizer = \"worker\""), HasSubstr("'mlp'")));
  EXPECT_THAT(refusal_of(external_model, FloatCode::int8), HasSubstr("leave pull_encoding out"));
}

}  // namespace
}  // namespace steelyard::prepare_job_test
