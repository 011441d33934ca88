#include "nn/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "core/parallel.h"
#include "nn/models.h"
#include "tests/nn/network_models.h"

namespace steelyard::nn::network_test {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Network, FastKernelsMatchTheReference) {
  std::vector<std::pair<std::string, Model>> all = models();
  for (auto& one : models_with_grains()) all.push_back(std::move(one));
  for (const auto& [name, model] : all) {
    SCOPED_TRACE(name);
    const std::vector<float> parameters = initial(model);
    const Data data(model, 32, 4);
    Network fast(model), reference(model, Backend::reference);
    for (const std::uint32_t size : micro_batch_sizes) {
      for (const std::uint32_t count : {size, size - 1, size / 2 + 1, 0U}) {
        if (count > size) continue;
        SCOPED_TRACE(testing::Message() << "size " << size << ", count " << count);
        const MicroBatch batch = data.batch(0, size, count);
        std::vector<float> actual(parameters.size(), 1), expected(parameters.size(), 1);
        const Sums sums = fast.train(parameters, batch, actual, true, nullptr);
        const Sums wanted = reference.train(parameters, batch, expected, true, nullptr);
        EXPECT_NEAR(sums.loss, wanted.loss, 1e-4 * (1 + wanted.loss));
        expect_near(actual, expected, 1e-4);
        const Sums evaluated = fast.evaluate(parameters, batch);
        const Sums wanted_evaluated = reference.evaluate(parameters, batch);
        EXPECT_NEAR(evaluated.loss, wanted_evaluated.loss, 1e-4 * (1 + wanted_evaluated.loss));
      }
    }
  }
}

// One micro-batch of any size, more than the 32 lanes of direct kernels too, with batch norm over all of it.
TEST(Network, WholeSharesMatchTheReference) {
  std::vector<std::pair<std::string, Model>> all = models();
  for (auto& one : models_with_grains()) all.push_back(std::move(one));
  for (auto& [name, model] : all) {
    const std::vector<float> parameters = initial(model);
    const Data data(model, 70, 4);
    for (const std::uint32_t most : {20U, 70U}) {
      model.normalize_shares(most);
      Network fast(model), reference(model, Backend::reference);
      for (const std::uint32_t size : {1U, 13U, 20U, 33U, 41U, 70U}) {
        if (size > most) continue;
        SCOPED_TRACE(testing::Message() << name << ", size " << size << " of " << most);
        const MicroBatch batch = data.batch(0, size, size);
        std::vector<float> actual(parameters.size(), 1), expected(parameters.size(), 1);
        const Sums sums = fast.train(parameters, batch, actual, true, nullptr);
        const Sums wanted = reference.train(parameters, batch, expected, true, nullptr);
        EXPECT_NEAR(sums.loss, wanted.loss, 1e-4 * (1 + wanted.loss));
        expect_near(actual, expected, 2e-4);
      }
    }
  }
}

// Written out for one norm: mean and unbiased variance of each channel over all pixels of the 41 samples.
TEST(Network, StatisticsOfAShareAreOverAllItsSamples) {
  constexpr std::uint32_t share = 41, pixels = 4, channels = 2;
  Model model = graph({2, 2, channels}, 3, [](Value x) { x.batch_norm("n").linear("f", 3); });
  model.normalize_shares(share);
  const Data data(model, share, 4);
  std::vector<float> gradient(model.parameters());
  Network(model).train(initial(model), data.batch(0, share, share), gradient, false, nullptr);
  const auto statistic = [&](const std::string& name, std::uint32_t channel) {
    for (const Tensor& tensor : model.tensors())
      if (tensor.spec.name == name) return gradient[tensor.offset + channel] / share;
    return NAN;
  };
  for (std::uint32_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    for (std::uint32_t i = 0; i < share * pixels; ++i) sum += data.inputs[i * channels + c];
    const double mean = sum / (share * pixels);
    for (std::uint32_t i = 0; i < share * pixels; ++i)
      squares += std::pow(data.inputs[i * channels + c] - mean, 2);
    EXPECT_NEAR(statistic("n.running_mean", c), mean, 1e-5);
    EXPECT_NEAR(statistic("n.running_var", c), squares / (share * pixels - 1), 1e-4);
  }
}

TEST(Network, MicroBatchesAddUpToTheWholeBatch) {
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    const std::vector<float> parameters = initial(model);
    const Data data(model, 32, 6);
    Network network(model);
    std::vector<float> whole(parameters.size()), parts(parameters.size(), 77);
    const Sums expected = network.train(parameters, data.batch(0, 32, 23), whole, false, nullptr);
    // 23 samples are 16 + 4 + 2 + 1; the first call writes the gradient, the others add to it.
    Sums sums = network.train(parameters, data.batch(0, 16, 16), parts, false, nullptr);
    sums += network.train(parameters, data.batch(16, 4, 4), parts, true, nullptr);
    sums += network.train(parameters, data.batch(20, 2, 2), parts, true, nullptr);
    sums += network.train(parameters, data.batch(22, 1, 1), parts, true, nullptr);
    EXPECT_NEAR(sums.loss, expected.loss, 1e-4 * (1 + expected.loss));
    EXPECT_EQ(sums.correct, expected.correct);
    expect_near(parts, whole, 1e-4);
  }
}

TEST(Network, PaddingChangesNoSum) {
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    const std::vector<float> parameters = initial(model);
    Data data(model, 8, 7);
    Network network(model);
    std::vector<float> clean(parameters.size()), dirty(parameters.size());
    const Sums expected = network.train(parameters, data.batch(0, 8, 5), clean, false, nullptr);
    for (std::size_t i = 5 * data.features; i < data.inputs.size(); ++i) {
      data.inputs[i] = std::numeric_limits<float>::quiet_NaN();
    }
    for (std::size_t l = 5 * data.per_sample; l < data.labels.size(); ++l) data.labels[l] = 1000;
    EXPECT_EQ(network.train(parameters, data.batch(0, 8, 5), dirty, false, nullptr), expected);
    EXPECT_EQ(dirty, clean);
    EXPECT_TRUE(std::isfinite(expected.loss));
  }
}

TEST(Network, ReportsFinalGradientsFromLastToFirst) {
  const Model model = Model({6, 6, 1}, 3)
                          .conv2d("a", {.channels = 2, .kernel = 3})
                          .relu()
                          .max_pool(2)
                          .linear("b", 4)
                          .relu()
                          .linear("c", 3);
  const std::vector<float> parameters = initial(model);
  const Data data(model, 4, 8);
  for (const Backend backend : {Backend::reference, Backend::cpu}) {
    Network network(model, backend);
    std::vector<float> expected(parameters.size()), gradient(parameters.size(), 55), seen(parameters.size());
    network.train(parameters, data.batch(0, 4, 4), expected, false, nullptr);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals;
    const FinalRange on_final = [&](std::uint64_t begin, std::uint64_t end) {
      intervals.emplace_back(begin, end);
      std::copy(gradient.begin() + static_cast<std::ptrdiff_t>(begin),
                gradient.begin() + static_cast<std::ptrdiff_t>(end),
                seen.begin() + static_cast<std::ptrdiff_t>(begin));
    };
    network.train(parameters, data.batch(0, 4, 4), gradient, false, &on_final);
    EXPECT_THAT(intervals, ElementsAre(Pair(56, 71), Pair(20, 56), Pair(0, 20)));
    EXPECT_EQ(seen, expected) << "a gradient changed after it was reported as final";
  }
}

TEST(Network, DropoutIsIndependentOfMicroBatches) {
  const Model model = Model({1, 1, 10}, 3).linear("a", 40).dropout(0.5).linear("b", 3);
  const std::vector<float> parameters = initial(model);
  const Data data(model, 4, 9);
  Network network(model);
  std::vector<float> gradient(parameters.size());
  const double together = network.train(parameters, data.batch(0, 4, 4), gradient, false, nullptr).loss;
  double alone = 0;
  for (const std::uint32_t s : {3U, 1U, 0U, 2U}) {
    alone += network.train(parameters, data.batch(s, 1, 1), gradient, false, nullptr).loss;
  }
  EXPECT_NEAR(alone, together, 1e-5 * together);
  MicroBatch next_epoch = data.batch(0, 4, 4);
  next_epoch.epoch += 1;
  EXPECT_GT(std::abs(network.train(parameters, next_epoch, gradient, false, nullptr).loss - together), 1e-3);
}

TEST(Network, EvaluationAndPredictionMatchTraining) {
  const Model model = make_model("lenet5", {{28, 28, 1}, 10, {}});
  const std::vector<float> parameters = initial(model);
  const Data data(model, 8, 10);
  for (const Backend backend : {Backend::reference, Backend::cpu}) {
    Network network(model, backend);
    const MicroBatch batch = data.batch(0, 8, 6);
    std::vector<float> gradient(parameters.size()), scores(60, -1);
    const Sums trained = network.train(parameters, batch, gradient, false, nullptr);
    EXPECT_EQ(network.evaluate(parameters, batch), trained);
    network.predict(parameters, batch, scores);
    const LossOptions loss{.kind = model.loss(), .classes = 10};
    EXPECT_EQ(evaluate_loss(loss, batch, scores.data(), {10, 1}, nullptr, 6), trained);
  }
}

TEST(Network, CanBeMoved) {
  const Model model = make_model("mlp", {{4, 4, 1}, 3, {}});
  const std::vector<float> parameters = initial(model);
  const Data data(model, 2, 11);
  Network first(model);
  const Sums expected = first.evaluate(parameters, data.batch(0, 2, 2));
  Network second = std::move(first);
  EXPECT_EQ(second.evaluate(parameters, data.batch(0, 2, 2)), expected);
}

// Two networks must not share the state of ops or the scratchpads of oneDNN.
TEST(Network, NetworksOnSeveralThreadsAreIndependent) {
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    const std::vector<float> parameters = initial(model);
    const Data data(model, 32, 13);
    std::vector<float> expected(parameters.size());
    Network alone(model);
    const Sums sums = alone.train(parameters, data.batch(0, 32, 32), expected, false, nullptr);
    constexpr std::size_t count = 4;
    std::vector<Network> networks;
    for (std::size_t i = 0; i < count; ++i) networks.emplace_back(model);
    std::vector<std::vector<float>> gradients(count, std::vector<float>(parameters.size()));
    std::vector<Sums> answers(count);
    parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        for (int again = 0; again < 5; ++again) {
          answers[i] = networks[i].train(parameters, data.batch(0, 32, 32), gradients[i], false, nullptr);
        }
      }
    });
    EXPECT_THAT(answers, testing::Each(sums));
    EXPECT_THAT(gradients, testing::Each(expected));
  }
}

TEST(Network, UsesTheIntendedKernels) {
  const Network lenet(make_model("lenet5", {{28, 28, 1}, 10, {}}));
  EXPECT_THAT(lenet.implementations(),
              ElementsAre("input (transposed): direct", "conv1: direct", "max_pool3: direct", "conv2: direct",
                          "max_pool6: direct", "fc1: onednn sgemm", "relu8: direct", "fc2: onednn sgemm",
                          "relu10: direct", "fc3: onednn sgemm"));
  const Network wide(Model({8, 8, 16}, 2).conv2d("a", {.channels = 8, .kernel = 3}).linear("b", 2));
  EXPECT_THAT(wide.implementations()[0],
              testing::AllOf(testing::StartsWith("a: onednn "), testing::Not(testing::HasSubstr("ref"))));
}

// Plain gradient descent on two micro-batches of samples.
double loss_after(const Model& model, int rounds, float rate) {
  std::vector<float> parameters = initial(model), gradient(parameters.size());
  const Data data(model, 64, 12);
  Network network(model);
  for (int round = 0; round < rounds; ++round) {
    network.train(parameters, data.batch(0, 32, 32), gradient, false, nullptr);
    network.train(parameters, data.batch(32, 32, 32), gradient, true, nullptr);
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= rate / 64 * gradient[i];
  }
  Sums sums = network.evaluate(parameters, data.batch(0, 32, 32));
  sums += network.evaluate(parameters, data.batch(32, 32, 32));
  return sums.loss / 64;
}

TEST(Network, Learns) {
  // Four classes: guessing costs log 4 = 1.39 under softmax, at least 1 under the hinge.
  const ModelOptions options{{12, 12, 1}, 4, {}};
  EXPECT_LT(loss_after(make_model("softmax", options), 30, 0.1F), 0.1);
  EXPECT_LT(loss_after(make_model("svm", options), 30, 0.1F), 0.1);
  EXPECT_LT(loss_after(make_model("mlp", options), 60, 0.1F), 0.1);
  EXPECT_LT(loss_after(make_model("lenet5", {{28, 28, 1}, 4, {}}), 60, 0.1F), 0.2);
}

}  // namespace
}  // namespace steelyard::nn::network_test
