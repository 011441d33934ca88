#include "scheduler/members/worker_profile.h"

#include <gmock/gmock.h>

#include <cmath>

#include "balancing/cost/curves.h"

namespace steelyard::worker_profile_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WorkerProfileTest : public ::testing::Test {
 protected:
  WorkerProfileTest() {
    job_.profile = true;
    job_.global_batch = 512;
    job_.train_samples = 5000;
    worker_.name = "ann";
  }
  std::string adopt(std::vector<BatchTime> times, std::uint64_t most = 0) {
    return adopt_profile(job_, {std::move(times), most}, worker_);
  }
  [[nodiscard]] double time_of(double samples) const { return balancing::Cubic{worker_.curve}(samples); }
  static std::vector<BatchTime> line(std::uint64_t most) {
    std::vector<BatchTime> times;
    for (std::uint64_t b = 1; b <= most; b *= 2) times.push_back({b, 0.005 + 6e-4 * static_cast<double>(b)});
    return times;
  }

  Job job_;
  WorkerMember worker_;
};

TEST_F(WorkerProfileTest, TimesBecomeACurveAndALine) {
  EXPECT_THAT(adopt(line(512)),
              AllOf(HasSubstr("worker 'ann' measured 10 batches up to 512 samples"),
                    HasSubstr("ms = 5 + 0.6 b"), HasSubstr("Pearson 1.0000, Spearman 1.0000")));
  EXPECT_NEAR(time_of(300), 0.185, 1e-6);
  EXPECT_EQ(worker_.most, 0U);
}

// A slow worker measures small batches only.
TEST_F(WorkerProfileTest, TheTimeContinuesBeyondTheLargestBatch) {
  adopt(line(16));
  EXPECT_NEAR(time_of(512), 0.005 + 6e-4 * 512, 1e-4);
  adopt({{1, 0.5}});
  EXPECT_NEAR(time_of(512), 256, 1e-6) << "in proportion, if there is one time only";
  adopt({{1, 0.5}, {2, 0.4}});
  EXPECT_GE(time_of(512), 0.3) << "a faster large batch is noise";
}

TEST_F(WorkerProfileTest, MemoryThatDoesNotHoldABatchLimitsTheShare) {
  EXPECT_THAT(adopt(line(64), 64), HasSubstr("its memory holds 64 samples"));
  EXPECT_EQ(worker_.most, 64U);
  worker_.most = 32;
  adopt(line(64), 64);
  EXPECT_EQ(worker_.most, 32U) << "its own max_batch is lower";
  job_.grain = 128;
  worker_.most = 0;
  adopt(line(64), 64);
  EXPECT_EQ(worker_.most, 0U) << "a limit below one grain is an error";
}

TEST_F(WorkerProfileTest, ImpossibleTimesAreNotUsed) {
  const std::vector<std::vector<BatchTime>> impossible{
      {},                    // none
      {{1, 0.1}, {2, NAN}},  // not a number
      {{1, INFINITY}},       //
      {{1, 0}},              // no time
      {{1, -1}},             //
      {{1, 1e6}},            // eleven days
      {{0, 0.1}},            // no samples
      {{2, 0.1}, {1, 0.1}},  // not ascending
      {{2, 0.1}, {2, 0.1}},  //
      {{5001, 0.1}},         // more than the data set
  };
  for (const auto& times : impossible) {
    worker_.curve = {1, 2, 3, 4};
    EXPECT_THAT(adopt(times, 4), AllOf(HasSubstr("warning"), HasSubstr("'ann'"))) << times.size();
    EXPECT_EQ(worker_.curve, (std::array<double, 4>{}));
    EXPECT_EQ(worker_.most, 0U);
  }
}

TEST_F(WorkerProfileTest, TheJobsCurveComesFirst) {
  job_.curves = {{"ben", {1}}, {"ann", {0.1, 0.2}}};
  EXPECT_THAT(adopt(line(64)), IsEmpty());
  EXPECT_EQ(worker_.curve, (std::array<double, 4>{0.1, 0.2, 0, 0}));
}

TEST_F(WorkerProfileTest, WithoutAProfileTimesAreIgnored) {
  job_.profile = false;
  EXPECT_THAT(adopt(line(64), 8), IsEmpty());
  EXPECT_EQ(worker_.curve, (std::array<double, 4>{}));
  EXPECT_EQ(worker_.most, 0U);
}

}  // namespace
}  // namespace steelyard::worker_profile_test
