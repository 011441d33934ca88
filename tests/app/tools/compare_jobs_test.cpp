// Jobs that a comparison runs; tests/app/tools/compare_command_test.cpp runs them.
#include "app/tools/compare_jobs.h"

#include <gtest/gtest.h>

namespace steelyard::job_test {
namespace {

TEST(CompareJob, AloneIsTheSameJobWithOneWorker) {
  const JobFile file = parse_job(
      "[model]\nname = \"softmax\"\n[data]\nname = \"synthetic\"\ntrain = 4096\n[train]\nlr = 0.3\n"
      "[[worker]]\nname = \"a\"\n[[worker]]\nname = \"b\"\nslow = 2.5\nmax_batch = 64\n",
      "job");
  const JobFile alone = parse_job(job_alone(file.resolved, "b"), "alone");
  ASSERT_EQ(alone.worker_specs.size(), 1U);
  EXPECT_EQ(alone.worker_specs[0].name, "b");
  EXPECT_EQ(alone.worker_specs[0].simulate_slowdown, "2.5");
  EXPECT_EQ(alone.worker_specs[0].max_batch, 64U);
  EXPECT_EQ(alone.job.schedule.base, 0.3);
  EXPECT_EQ(alone.job.data_options, file.job.data_options);
  EXPECT_EQ(alone.job.workers, 1U);
}

}  // namespace
}  // namespace steelyard::job_test
