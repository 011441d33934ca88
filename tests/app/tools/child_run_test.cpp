// Errors in the output of runs in child processes; tests/app/tools/compare_command_test.cpp and
// process_plan_test.cpp start such runs.
#include "app/tools/child_run.h"

#include <gtest/gtest.h>

namespace steelyard::child_run_test {
namespace {

TEST(ChildRun, TheReasonIsTheLastErrorBeforeTheJobEnds) {
  EXPECT_EQ(complaint_in(""), "");
  EXPECT_EQ(complaint_in("epoch 1 of 3\nfinished\n"), "");
  EXPECT_EQ(complaint_in("steelyard: j.toml: no worker\n"), "j.toml: no worker");
  EXPECT_EQ(complaint_in("2026-05-04T07:08:09.123Z error   steelyard: j.toml: no worker\n"),
            "j.toml: no worker");
  EXPECT_EQ(complaint_in("steelyard: the checkpoint is of another policy\n"
                         "steelyard: process 'a' was killed by signal 9; its log is a.log\n"
                         "  epoch 3\n"
                         "steelyard: starting 'a' again\n"
                         "steelyard: process 'b' exited with code 74; its log is b.log\n"
                         "  epoch 3\n"
                         "  steelyard: the disk is full\n"
                         "steelyard: ending the job: no worker runs\n"
                         "steelyard: process 'a' exited with code 1; its log is a.log\n"),
            "process 'b' exited with code 74; its log is b.log; its message: the disk is full");
  EXPECT_EQ(
      complaint_in("steelyard: process 'a' was killed\n  steelyard: hm\nsteelyard: the scheduler ended\n"),
      "the scheduler ended");
}

TEST(ChildRun, ASignalIsNotAnExitCode) {
  EXPECT_EQ((ChildEnd{0, ""}.code()), 0);
  EXPECT_EQ((ChildEnd{64 << 8, ""}.code()), 64);
  EXPECT_EQ((ChildEnd{9, ""}.code()), -1);
}

}  // namespace
}  // namespace steelyard::child_run_test
