// Jobs as they are run by a comparison; tests/cli/compare/compare_test.cpp runs them.
#include "cli/compare/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard {
namespace {

TEST(CompareJob, TheReasonIsWhatWasSaidBeforeTheEndWasDecided) {
  EXPECT_EQ(complaint_in(""), "");
  EXPECT_EQ(complaint_in("epoch 1 of 3\nfinished\n"), "");
  EXPECT_EQ(complaint_in("steelyard: j.toml: no worker\n"), "j.toml: no worker");
  EXPECT_EQ(complaint_in("steelyard: the checkpoint is of another policy\n"
                         "steelyard: process 'a' was killed by signal 9; its log is a.log\n"
                         "  epoch 3\n"
                         "steelyard: starting 'a' again\n"
                         "steelyard: process 'b' ended with code 74; its log is b.log\n"
                         "  epoch 3\n"
                         "  steelyard: the disk is full\n"
                         "steelyard: ending the job: no worker runs\n"
                         "steelyard: process 'a' ended with code 1; its log is a.log\n"),
            "process 'b' ended with code 74; its log is b.log; it says: the disk is full");
  EXPECT_EQ(
      complaint_in("steelyard: process 'a' was killed\n  steelyard: hm\nsteelyard: the scheduler ended\n"),
      "the scheduler ended");
}

TEST(CompareJob, AloneIsTheSameJobWithOneWorker) {
  const JobFile file = parse_job(
      "[model]\nname = \"softmax\"\n[data]\nname = \"synthetic\"\ntrain = 4096\n[train]\nlr = 0.3\n"
      "[[worker]]\nname = \"a\"\n[[worker]]\nname = \"b\"\nslow = 2.5\nmax_batch = 64\n",
      "job");
  const JobFile alone = parse_job(job_alone(file.resolved, "b"), "alone");
  ASSERT_EQ(alone.worker_specs.size(), 1U);
  EXPECT_EQ(alone.worker_specs[0].name, "b");
  EXPECT_EQ(alone.worker_specs[0].slow, "2.5");
  EXPECT_EQ(alone.worker_specs[0].max_batch, 64U);
  EXPECT_EQ(alone.job.schedule.base, 0.3);
  EXPECT_EQ(alone.job.data_options, file.job.data_options);
  EXPECT_EQ(alone.job.workers, 1U);
}

}  // namespace
}  // namespace steelyard
