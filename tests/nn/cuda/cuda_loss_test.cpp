#include "nn/cuda/cuda_loss.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::loss_test {
namespace {

using testing::Each;
using Labels = std::vector<std::uint32_t>;
using Floats = std::vector<float>;

struct Result {
  LossSums sums;
  Floats gradient;
};

// Runs on the device and adds `times` micro-batches into one sum. `targets`: of losses that take them, beside
// a label for each sample, which is not read.
Result on_device(const LossOptions& loss, const Floats& scores, const Labels& labels, std::uint32_t count,
                 bool in_place = false, unsigned times = 1, const Floats& targets = {0}) {
  const auto size = static_cast<std::uint32_t>(labels.size() / loss.labels);
  Stream stream;
  Products products(stream, Precision::float32);
  PinnedArray<BatchNumbers> numbers(1);
  PinnedArray<LossSums> sums(1);
  *numbers.data() = {.count = count};
  *sums.data() = {};
  PinnedArray<std::uint32_t> labels_here(labels.size());
  PinnedArray<float> scores_here(scores.size());
  std::copy(labels.begin(), labels.end(), labels_here.data());
  std::copy(scores.begin(), scores.end(), scores_here.data());
  const DeviceArray<BatchNumbers> numbers_there(1);
  const DeviceArray<LossSums> sums_there(1);
  const DeviceArray<std::uint32_t> labels_there(labels.size());
  PinnedArray<float> targets_here(targets.size());
  std::copy(targets.begin(), targets.end(), targets_here.data());
  const DeviceArray<float> targets_there(targets.size());
  stream.copy_array(targets_there.data(), targets_here.data(), targets.size());
  const DeviceArray<float> scores_there(scores.size()), gradient(scores.size()),
      workspace(loss_workspace(loss, size));
  stream.copy_array(numbers_there.data(), numbers.data(), 1);
  stream.copy_array(sums_there.data(), sums.data(), 1);
  stream.copy_array(labels_there.data(), labels_here.data(), labels.size());
  const Context context{.stream = stream,
                        .products = products,
                        .numbers = numbers_there.data(),
                        .positions = nullptr,
                        .labels = labels_there.data(),
                        .targets = targets_there.data()};
  float* const to = in_place ? scores_there.data() : gradient.data();
  for (unsigned t = 0; t < times; ++t) {
    stream.copy_array(scores_there.data(), scores_here.data(), scores.size());
    add_loss(context, loss, size, scores_there.data(), to, sums_there.data(), workspace.data());
  }
  stream.copy_array(scores_here.data(), to, scores.size());
  stream.copy_array(sums.data(), sums_there.data(), 1);
  // The sums are the same without a gradient.
  PinnedArray<LossSums> alone(1);
  if (!in_place) {
    stream.fill_zero(sums_there.data(), sizeof(LossSums));
    for (unsigned t = 0; t < times; ++t)
      add_loss(context, loss, size, scores_there.data(), nullptr, sums_there.data(), workspace.data());
    stream.copy_array(alone.data(), sums_there.data(), 1);
  }
  stream.synchronize();
  if (!in_place && !std::isnan(sums.data()->loss)) {
    EXPECT_EQ(alone.data()->loss, sums.data()->loss);
  }
  return {*sums.data(), Floats(scores_here.data(), scores_here.data() + scores.size())};
}

Result on_host(const LossOptions& loss, const Floats& scores, const Labels& labels, std::uint32_t count,
               const Floats& targets = {}) {
  const auto size = static_cast<std::uint32_t>(labels.size() / loss.labels);
  const MicroBatch batch{.labels = labels.data(), .size = size, .count = count, .targets = targets.data()};
  Result result{{}, Floats(scores.size())};
  const Sums sums =
      evaluate_loss(loss, batch, scores.data(), {std::uint64_t{loss.classes} * loss.labels, 1, loss.classes},
                    result.gradient.data(), size);
  result.sums = {sums.loss, counts_answers(loss.kind) ? sums.correct : 0, 0};
  return result;
}

void expect_same(const Result& actual, const Result& expected) {
  EXPECT_NEAR(actual.sums.loss, expected.sums.loss, 1e-5 * (1 + expected.sums.loss));
  EXPECT_EQ(actual.sums.correct, expected.sums.correct);
  EXPECT_EQ(actual.sums.no_class, expected.sums.no_class);
  ASSERT_EQ(actual.gradient.size(), expected.gradient.size());
  for (std::size_t i = 0; i < actual.gradient.size(); ++i)
    ASSERT_NEAR(actual.gradient[i], expected.gradient[i], 1e-5) << i;
}

struct Rows {
  Floats scores;
  Labels labels;
};
// Coarse scores, so that many are equal; padding has NaN scores and invalid labels.
Rows random_rows(const LossOptions& loss, std::uint32_t size, std::uint32_t count, Random& random) {
  Rows rows;
  for (std::uint32_t r = 0; r < size * loss.labels; ++r) {
    const bool real = r < count * loss.labels;
    rows.labels.push_back(real ? static_cast<std::uint32_t>(random.below(loss.classes)) : 0xFFFFFFFF);
    for (std::uint32_t c = 0; c < loss.classes; ++c)
      rows.scores.push_back(real ? static_cast<float>(random.below(9)) - 4.0F : NAN);
  }
  return rows;
}

TEST(CudaLoss, AgreesWithTheHost) {
  Random random(1);
  for (const Loss kind : {Loss::softmax_cross_entropy, Loss::hinge}) {
    for (const std::uint32_t classes : {2, 10, 33, 700}) {
      for (const std::uint32_t labels : {1, 3}) {
        for (const double smoothing : {0.0, 0.1}) {
          if (kind == Loss::hinge && smoothing > 0) continue;
          const LossOptions loss{kind, classes, labels, smoothing};
          SCOPED_TRACE(testing::Message() << "hinge " << (kind == Loss::hinge) << ", classes " << classes
                                          << ", labels " << labels << ", smoothing " << smoothing);
          const std::uint32_t size = thorough ? 8 : 2, count = thorough ? 5 : 1;
          const auto [scores, of] = random_rows(loss, size, count, random);
          const Result expected = on_host(loss, scores, of, count);
          in_each_schedule([&] { expect_same(on_device(loss, scores, of, count), expected); });
          expect_same(on_device(loss, scores, of, count, true), expected);
        }
      }
    }
  }
}

TEST(CudaLoss, SumsManyRowsAndSeveralMicroBatches) {
  Random random(2);
  const LossOptions loss{Loss::softmax_cross_entropy, 5, 90};
  const auto [scores, labels] = random_rows(loss, 8, 7, random);
  Result expected = on_host(loss, scores, labels, 7);
  expected.sums.loss *= 3, expected.sums.correct *= 3;
  expect_same(on_device(loss, scores, labels, 7, false, 3), expected);
}

TEST(CudaLoss, DoesNotOverflow) {
  const Result result = on_device({Loss::softmax_cross_entropy, 3}, {1000, 0, -1000}, {1}, 1);
  EXPECT_NEAR(result.sums.loss, 1000, 1e-3);
  EXPECT_THAT(result.gradient, testing::ElementsAre(1, -1, 0));
}

// Padding has NaN outputs and targets.
TEST(CudaLoss, AgreesWithTheHostForTargets) {
  Random random(4);
  for (const Loss kind : {Loss::mean_squared_error, Loss::mean_absolute_error, Loss::binary_cross_entropy}) {
    for (const std::uint32_t each : {1, 3, 40, 700}) {
      SCOPED_TRACE(word_of(kind) + ", targets " + std::to_string(each));
      const std::uint32_t size = 8, count = 5;
      Floats outputs, targets;
      for (std::uint32_t i = 0; i < size * each; ++i) {
        const bool real = i < count * each;
        outputs.push_back(real ? static_cast<float>(4 * random.normal()) : NAN);
        targets.push_back(real ? static_cast<float>(random.below(2)) : NAN);
        // The first sample answers all right, up to a probability of 1 and a loss of 0.
        if (i < each) outputs.back() = targets.back() > 0 ? 100.0F : -100.0F;
      }
      const LossOptions loss{kind, each};
      const Result expected = on_host(loss, outputs, Labels(size), count, targets);
      if (kind == Loss::binary_cross_entropy) {
        EXPECT_GE(expected.sums.correct, 1U);
      }
      in_each_schedule(
          [&] { expect_same(on_device(loss, outputs, Labels(size), count, false, 1, targets), expected); });
      expect_same(on_device(loss, outputs, Labels(size), count, true, 1, targets), expected);
    }
  }
}

TEST(CudaLoss, NanOutputsGiveANanLossOfTargets) {
  for (const Loss kind : {Loss::mean_squared_error, Loss::mean_absolute_error, Loss::binary_cross_entropy}) {
    const Result result = on_device({kind, 2}, {NAN, 1}, {0}, 1, false, 1, {0, 1});
    EXPECT_TRUE(std::isnan(result.sums.loss));
    EXPECT_TRUE(std::isnan(result.gradient[0]));
  }
}

// The results of the two other samples do not change.
TEST(CudaLoss, CountsInvalidLabels) {
  for (const Loss kind : {Loss::softmax_cross_entropy, Loss::hinge}) {
    const LossOptions loss{kind, 3};
    const Floats scores{1, 2, 3, 1, 2, 3, 3, 2, 2.5};
    const Result result = on_device(loss, scores, {2, 3, 1}, 3);
    EXPECT_EQ(result.sums.no_class, 1U);
    const Result others = on_host(loss, {1, 2, 3, 3, 2, 2.5}, {2, 1}, 2);
    EXPECT_NEAR(result.sums.loss, others.sums.loss, 1e-5);
    EXPECT_EQ(result.sums.correct, 1U);
    EXPECT_THAT(Floats(result.gradient.begin() + 3, result.gradient.begin() + 6), Each(0));
  }
}

TEST(CudaLoss, NanScoresGiveANanLoss) {
  for (const Loss kind : {Loss::softmax_cross_entropy, Loss::hinge}) {
    for (const Floats& scores :
         {Floats{NAN, 5, 1}, Floats{0, 5, NAN}, Floats{0, NAN, 1}, Floats{NAN, NAN, NAN}}) {
      const Result result = on_device({kind, 3}, scores, {1}, 1);
      EXPECT_TRUE(std::isnan(result.sums.loss));
    }
  }
}

TEST(CudaLoss, EachBarrierIsNeeded) {
  Random random(3);
  const LossOptions loss{Loss::softmax_cross_entropy, 5, 90};
  const auto [scores, labels] = random_rows(loss, 8, 8, random);
  const Result expected = on_host(loss, scores, labels, 8);
  expect_barriers_of("cuda_loss.cu", [&, rows = &scores, of = &labels] {
    const LossSums sums = on_device(loss, *rows, *of, 8, true).sums;
    return std::abs(sums.loss - expected.sums.loss) < 1e-3 && sums.correct == expected.sums.correct;
  });
}

}  // namespace
}  // namespace steelyard::nn::cuda::loss_test
