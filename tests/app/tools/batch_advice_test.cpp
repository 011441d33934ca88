// Slow workers pay beside a fast one only in long rounds.
#include "app/tools/batch_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::batch_advice_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Takes `fixed_ms` and `ms` for each sample, and 0.5 ms for a message.
MeasuredWorker worker(const std::string& name, double ms, double fixed_ms = 0) {
  return {name, {{128, fixed_ms + 128 * ms}, {512, fixed_ms + 512 * ms}}, 0, 0.5, 0};
}

Job job(std::uint64_t batch) {
  Job it;
  it.train_samples = 600'000;
  it.global_batch = batch;
  it.layout.ranges = {{0, 250'000}};
  return it;
}

TEST(BatchAdvice, EqualWorkersNeedNone) {
  EXPECT_FALSE(batch_advice(job(512), {worker("a", 0.1), worker("b", 0.3)}));
  EXPECT_FALSE(batch_advice(job(512), {worker("a", 0.1)}));
}

// Five CPUs have 10 % of the GPU's speed, but need 20 ms before their first sample.
TEST(BatchAdvice, CpusBesideAGpuPayFromALargerBatchOn) {
  std::vector<MeasuredWorker> measured{worker("gpu", 0.01)};
  for (int i = 0; i < 5; ++i) measured.push_back(worker("cpu-" + std::to_string(i), 0.5, 20));
  const auto advice = batch_advice(job(1024), measured);
  ASSERT_TRUE(advice);
  EXPECT_THAT(advice->fast, ElementsAre("gpu"));
  EXPECT_EQ(advice->slow.size(), 5U);
  ASSERT_TRUE(advice->batch);
  EXPECT_GT(*advice->batch, 1024U) << "a round of 1024 takes 10 ms";
  EXPECT_LE(*advice->batch, 8192U);
  EXPECT_EQ(*advice->batch, advice->largest) << "the smallest is the last one tried";
  EXPECT_THAT(advice_text(*advice, 1024),
              testing::AllOf(HasSubstr("cpu-4 beside gpu"), HasSubstr("less than 2 % at the batch of 1024"),
                             HasSubstr("at a batch of " + std::to_string(*advice->batch))));
  EXPECT_EQ(advice_json(*advice)["batch"], *advice->batch);
  EXPECT_GE(advice_json(*advice)["gain"].get<double>(), 0.02);

  const auto large = batch_advice(job(*advice->batch), measured);
  ASSERT_TRUE(large && large->batch);
  EXPECT_EQ(*large->batch, *advice->batch);
  EXPECT_THAT(advice_text(*large, *advice->batch), Not(HasSubstr("less than")));
}

TEST(BatchAdvice, AWorkerWithAThousandthOfTheSpeedPaysAtNone) {
  const auto advice = batch_advice(job(1024), {worker("gpu", 0.01), worker("cpu", 10)});
  ASSERT_TRUE(advice);
  EXPECT_FALSE(advice->batch);
  EXPECT_EQ(advice->largest, 65'536U);
  EXPECT_THAT(advice_text(*advice, 1024), HasSubstr("at batches of 1024 to 65536"));
  EXPECT_TRUE(advice_json(*advice)["batch"].is_null());
}

TEST(BatchAdvice, NoBatchIsLargerThanTheTrainingSet) {
  Job small = job(1024);
  small.train_samples = 3000;
  EXPECT_EQ(batch_advice(small, {worker("gpu", 0.01), worker("cpu", 10)})->largest, 2048U);
}

}  // namespace
}  // namespace steelyard::batch_advice_test
