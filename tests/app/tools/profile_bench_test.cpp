#include "app/tools/profile_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::bench_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Gt;
using testing::SizeIs;

class ProfileBenchTest : public testing::Test {
 protected:
  ProfileBenchTest() {
    job_.model = "softmax";
    job_.data = "synthetic";
    job_.data_options = {{"train", "100"}, {"test", "10"}, {"height", "4"}, {"width", "4"}};
    job_.global_batch = 1;
    workload_ = workload_of(job_, {});
    complete(job_, described(workload_));
  }

  Job job_;
  Workload workload_;
};

TEST_F(ProfileBenchTest, EveryWorkerIsMeasured) {
  ProfileBench bench(job_, workload_, 3);
  for (unsigned crew = 1; crew <= 3; ++crew) {
    EXPECT_THAT(bench.measure(33, crew), AllOf(SizeIs(crew), Each(Gt(0))));
  }
}

// Pieces of any size go through the training set, and restart at its end.
TEST_F(ProfileBenchTest, TheTrainingSetIsCycled) {
  ProfileBench bench(job_, workload_, 1);
  for (const std::uint64_t size : {60, 60, 100, 1, 99, 7, 100}) {
    EXPECT_THAT(bench.measure(size, 1), SizeIs(1)) << size;
  }
}

}  // namespace
}  // namespace steelyard::bench_test
