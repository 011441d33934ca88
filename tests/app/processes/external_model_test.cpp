#include "app/processes/initial_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "worker/data/sets/synthetic.h"

namespace steelyard::external_model_test {
namespace {

using ::testing::HasSubstr;

Workload workload(std::size_t tensors, const std::string& name) {
  SyntheticOptions options;
  options.samples = 100;
  options.shape = {2, 2, 1};
  Workload it;
  it.data = {.train = std::make_shared<SyntheticDataSet>(options), .test = nullptr, .name = "synthetic"};
  for (std::size_t i = 0; i < tensors; ++i) append(it.layout, name, {1});
  return it;
}

TEST(ExternalModel, ADescriptionTooLargeForAMessageIsRefused) {
  EXPECT_EQ(model_to_tell(workload(10, "w")).description.layout.tensors.size(), 10U);
  try {
    (void)model_to_tell(workload(1000, std::string(3000, 'x')));
    ADD_FAILURE() << "3 MB of names were accepted";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), HasSubstr("make names of tensors shorter"));
  }
}

}  // namespace
}  // namespace steelyard::external_model_test
