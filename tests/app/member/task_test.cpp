// Which task a process is, from what each engine sets.
#include "app/member/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/complaint.h"

namespace steelyard::task_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Environment = std::map<std::string, std::string>;

Task task_in(const Environment& environment, const TaskNumbers& given = {}) {
  return task_of(given, [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}
std::string complaint_in(const Environment& environment, const TaskNumbers& given = {}) {
  return complaint_of([&] { (void)task_in(environment, given); });
}

TEST(Task, EachEngineIsUnderstoodAlone) {
  for (const TaskVariables& row : task_variables()) {
    Environment environment{{row.rank, "2"}};
    TaskNumbers given;
    if (row.size != nullptr) {
      environment[row.size] = "5";
    } else {
      given.size = 5;
    }
    EXPECT_EQ(task_in(environment, given), (Task{2, 5})) << row.engine;
  }
}

TEST(Task, TwoEnginesThatAgreeAreOne) {
  EXPECT_EQ(task_in({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}),
            (Task{1, 3}));
}

TEST(Task, TwoThatDisagreeAreBothNamed) {
  EXPECT_THAT(complaint_in({{"SLURM_PROCID", "0"},
                            {"SLURM_NTASKS", "4"},
                            {"OMPI_COMM_WORLD_RANK", "3"},
                            {"OMPI_COMM_WORLD_SIZE", "4"}}),
              AllOf(HasSubstr("SLURM_PROCID=0"), HasSubstr("OMPI_COMM_WORLD_RANK=3"), HasSubstr("--rank")));
  EXPECT_THAT(complaint_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"SLURM_NTASKS", "1"}}),
              AllOf(HasSubstr("SLURM_NTASKS=1"), HasSubstr("WORLD_SIZE=2"), HasSubstr("--size")));
}

TEST(Task, NumbersOfTheCommandLineGoFirst) {
  EXPECT_EQ(task_in({{"SLURM_PROCID", "0"}, {"RANK", "3"}, {"WORLD_SIZE", "9"}}, {1, {}}), (Task{1, 9}));
  EXPECT_EQ(task_in({}, {1, 2}), (Task{1, 2}));
}

TEST(Task, WithoutAnEngineTheRemedyIsNamed) {
  EXPECT_THAT(complaint_in({}), AllOf(HasSubstr("SLURM_PROCID"), HasSubstr("srun"), HasSubstr("--rank")));
  EXPECT_THAT(complaint_in({{"JOB_COMPLETION_INDEX", "0"}}), HasSubstr("--size"));
  EXPECT_THAT(complaint_in({{"RANK", ""}, {"WORLD_SIZE", "2"}}), HasSubstr("--rank")) << "empty is not set";
}

TEST(Task, ImpossibleNumbersAreRefused) {
  EXPECT_THAT(complaint_in({{"RANK", "first"}, {"WORLD_SIZE", "2"}}),
              AllOf(HasSubstr("RANK"), HasSubstr("'first'")));
  EXPECT_THAT(complaint_in({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), HasSubstr("'-1'"));
  EXPECT_THAT(complaint_in({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), HasSubstr("task 2 of 2"));
}

}  // namespace
}  // namespace steelyard::task_test
