#include "nn/cuda/loss_total.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/network_models.h"

namespace steelyard::nn::cuda::loss_total_test {
namespace {

using testing::HasSubstr;

// Micro-batches of four samples in three classes, on the device.
struct LossTotals : testing::Test {
  Model model = Model({1, 1, 2}, 3).linear("a", 3);
  LossTotal total{model, 4};
  Stream stream;
  Products products{stream, Precision::float32};
  DeviceArray<BatchNumbers> numbers{1};
  DeviceArray<std::uint64_t> positions{4};
  DeviceArray<std::uint32_t> labels{4};

  // The scores favour class 0. Returns what was summed so far.
  Sums add(const std::vector<std::uint32_t>& of, std::uint32_t count) {
    numbers = to_device<BatchNumbers>(stream, {{1, 2, count}});
    labels = to_device(stream, of);
    const DeviceArray<float> scores = to_device<float>(stream, {1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0});
    const Context context{stream, products, numbers.data(), positions.data(), labels.data()};
    total.add(context, 4, scores.data(), nullptr);
    total.bring_back(stream);
    stream.synchronize();
    return total.sums();
  }
};

TEST_F(LossTotals, SumOverMicroBatchesSinceTheyWereCleared) {
  total.clear(stream);
  const Sums first = add({0, 0, 1, 2}, 4);
  EXPECT_EQ(first.correct, 2U);
  EXPECT_GT(first.loss, 0);
  const Sums both = add({0, 0, 1, 2}, 4);
  EXPECT_EQ(both.correct, 4U);
  EXPECT_DOUBLE_EQ(both.loss, 2 * first.loss);
  total.clear(stream);
  EXPECT_EQ(add({0, 0, 1, 2}, 1).correct, 1U) << "padding does not count";
}

TEST_F(LossTotals, LabelsOutsideTheClassesAreErrors) {
  total.clear(stream);
  try {
    (void)add({0, 7, 3, 2}, 4);
    FAIL() << "class 7 of 3";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), HasSubstr("2 labels are not classes of the model, which has 3"));
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::loss_total_test
