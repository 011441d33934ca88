#include "worker/compute/batch_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "core/random.h"
#include "tests/worker/made_data.h"

namespace steelyard::batch_buffer_test {
namespace {

DataSets numbered(std::uint64_t train, std::uint64_t test) {
  return {std::make_shared<NumberedData>(train), std::make_shared<NumberedData>(test)};
}

TEST(BatchBuffer, TakesTheSmallestSizeThatHoldsTheRest) {
  const DataSets data = numbered(100, 100);
  const SampleOrder order(data, Purpose::train, 1, 0);
  BatchBuffer buffer({1, 1, 2}, 1, cpu_sizes);
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes{{1, 1},   {2, 2},   {3, 4},   {4, 4},
                                                                   {5, 8},   {9, 16},  {16, 16}, {17, 32},
                                                                   {31, 32}, {32, 32}, {33, 32}, {100, 32}};
  for (const auto& [positions, size] : sizes) {
    const nn::MicroBatch& batch = buffer.fill(order, {0, positions});
    EXPECT_EQ(batch.size, size) << positions;
    EXPECT_EQ(batch.count, std::min(positions, size));
  }
}

TEST(BatchBuffer, FollowsThePermutationOfTheEpoch) {
  const DataSets data = numbered(100, 100);
  BatchBuffer buffer({1, 1, 2}, 1, cpu_sizes);
  const nn::MicroBatch& batch = buffer.fill(SampleOrder(data, Purpose::train, 5, 3), {70, 81});
  const Permutation expected(100, hash(5, 3));
  ASSERT_EQ(batch.count, 11u);
  EXPECT_EQ(batch.seed, 5u);
  EXPECT_EQ(batch.epoch, 3u);
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    const std::uint64_t sample = expected(70 + i);
    EXPECT_EQ(batch.positions[i], 70 + i);
    EXPECT_EQ(batch.inputs[std::size_t{2} * i], static_cast<float>(sample));
    EXPECT_EQ(batch.inputs[std::size_t{2} * i + 1], static_cast<float>(sample) + 0.5F);
    EXPECT_EQ(batch.labels[i], sample % 3);
  }
}

TEST(BatchBuffer, EvaluatesTheTestSetInOrder) {
  const DataSets data = numbered(10, 40);
  BatchBuffer buffer({1, 1, 2}, 1, cpu_sizes);
  const nn::MicroBatch& batch = buffer.fill(SampleOrder(data, Purpose::evaluate, 5, 3), {33, 40});
  ASSERT_EQ(batch.count, 7u);
  for (std::uint32_t i = 0; i < batch.count; ++i)
    EXPECT_EQ(batch.inputs[std::size_t{2} * i], static_cast<float>(33 + i));
}

TEST(BatchBuffer, PaddingIsCleared) {
  const DataSets data = numbered(100, 100);
  const SampleOrder order(data, Purpose::train, 1, 0);
  BatchBuffer buffer({1, 1, 2}, 1, cpu_sizes);
  buffer.fill(order, {50, 82});
  const nn::MicroBatch& batch = buffer.fill(order, {50, 71});
  ASSERT_EQ(batch.count, 21u);
  for (std::uint32_t i = batch.count; i < batch.size; ++i) {
    EXPECT_EQ(batch.inputs[std::size_t{2} * i], 0);
    EXPECT_EQ(batch.inputs[std::size_t{2} * i + 1], 0);
    EXPECT_EQ(batch.labels[i], 0u);
    EXPECT_EQ(batch.positions[i], 0u);
  }
}

TEST(BatchBuffer, ReadsTargets) {
  const DataSets data{std::make_shared<TargetData>(40), std::make_shared<TargetData>(40, 5), "numbers"};
  BatchBuffer buffer({1, 1, 2}, 1, cpu_sizes, 2);
  EXPECT_NE(buffer.fill(SampleOrder(data, Purpose::train, 5, 0), {0, 32}).targets, nullptr);
  const nn::MicroBatch& batch = buffer.fill(SampleOrder(data, Purpose::evaluate, 5, 0), {37, 40});
  ASSERT_EQ(batch.size, 4U);
  EXPECT_THAT(std::vector(batch.targets, batch.targets + 8),
              testing::ElementsAre(37, -37, 38, -38, 39, -39, 0, 0))
      << "padding is cleared";
  try {
    buffer.fill(SampleOrder(data, Purpose::evaluate, 5, 0), {0, 8});
    FAIL() << "a target that is not finite is refused";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(),
                testing::HasSubstr("data set 'numbers', test sample 5: one of its targets is not a finite"));
  }
}

TEST(BatchBuffer, AnEpochHasEverySampleOnce) {
  const DataSets data = numbered(77, 1);
  BatchBuffer buffer({1, 1, 2}, 1, cpu_sizes);
  std::vector<std::vector<float>> epochs;
  for (const std::uint64_t epoch : {0, 1}) {
    const SampleOrder order(data, Purpose::train, 1, epoch);
    std::vector<float> seen;
    for (Interval rest{0, 77}; !rest.empty(); rest.begin += buffer.batch().count) {
      const nn::MicroBatch& batch = buffer.fill(order, rest);
      for (std::uint32_t i = 0; i < batch.count; ++i) seen.push_back(batch.inputs[std::size_t{2} * i]);
    }
    EXPECT_EQ(seen.size(), 77u);
    EXPECT_EQ(std::set<float>(seen.begin(), seen.end()).size(), 77u);
    epochs.push_back(seen);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(BatchBufferDeathTest, RefusesPositionsBeyondTheData) {
  const DataSets data = numbered(10, 5);
  const SampleOrder order(data, Purpose::evaluate, 1, 0);
  BatchBuffer buffer({1, 1, 2}, 1, cpu_sizes);
  EXPECT_DEATH(buffer.fill(order, {3, 6}), "outside its data set");
  EXPECT_DEATH(buffer.fill(order, {3, 3}), "outside its data set");
}

}  // namespace
}  // namespace steelyard::batch_buffer_test
