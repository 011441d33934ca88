#include "worker/compute/compute_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "nn/network.h"
#include "tests/worker/made_data.h"
#include "tests/worker/mail.h"
#include "worker/compute/feed.h"
#include "worker/data/sets/synthetic.h"

namespace steelyard::node_test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t train_samples = 500, test_samples = 130;

// The messages that answer one Compute.
struct Answer {
  std::vector<GradientReady> finals;
  Report report;
};

class ComputeNodeTest : public testing::Test {
 protected:
  ComputeNodeTest() {
    model_.conv2d("conv", {.channels = 3, .kernel = 3}).relu().max_pool(2).linear("hidden", 20).relu();
    model_.dropout(0.25).linear("out", 4);
    job_.seed = 11;
    job_.layout = model_.layout();
    job_.layout.slice_size = 50;
    job_.train_samples = train_samples;
    job_.test_samples = test_samples;
    slices_ = slices(job_.layout);
    auto parameters = std::make_shared<FloatBuffer>(model_.parameters());
    model_.initialize(parameters->span(), 3);
    parameters_ = Blob::of_floats(parameters, parameters->span());
  }
  // Releases threads that wait for data, in case a test ends early.
  ~ComputeNodeTest() override { train_->release(); }

  static std::shared_ptr<const SyntheticDataSet> synthetic(std::uint64_t samples, std::uint64_t part) {
    return std::make_shared<const SyntheticDataSet>(
        SyntheticOptions{.samples = samples, .classes = 4, .shape = {8, 8, 1}, .part = part});
  }

  std::unique_ptr<ComputeNode> node(const std::string& slow = "1", const std::string& cpu = "1") {
    return std::make_unique<ComputeNode>(post_to(mail_), model_workload(model_, data_), job_,
                                         Throttle::parse(slow, cpu));
  }

  static void give(ComputeNode& node, ToCompute message) { node.give(message); }
  [[nodiscard]] Compute compute(Round round, PieceId piece, Interval positions,
                                Purpose purpose = Purpose::train) const {
    return {{piece, round, purpose, 2, positions}, parameters_};
  }
  static Compute announcement(Compute compute) {
    compute.parameters = {};
    return compute;
  }

  Answer answer() {
    Answer answer;
    while (true) {
      const ToWorker message = mail_.pop().value();
      if (const auto* computed = std::get_if<Computed>(&message)) {
        answer.report = computed->report;
        return answer;
      }
      if (std::holds_alternative<ComputeProgress>(message)) continue;  // sent only by longer computations
      answer.finals.push_back(std::get<GradientReady>(message));
    }
  }
  bool silent() { return !mail_.pop(Time{}).has_value(); }

  // The whole gradient, put together from its slices.
  [[nodiscard]] std::vector<float> gradient(const Answer& answer) const {
    std::vector<float> whole(model_.parameters());
    for (const GradientReady& final : answer.finals) {
      const auto values = final.values.floats();
      std::copy(values.begin(), values.end(), whole.begin() + static_cast<long>(slices_[final.slice].begin));
    }
    return whole;
  }

  // The same, computed by a network alone.
  nn::Sums direct(Interval positions, Purpose purpose, std::vector<float>& gradient) {
    nn::Network network(model_);
    const SampleOrder order(data_, purpose, job_.seed, 2);
    BatchBuffer buffer({8, 8, 1}, 1, cpu_sizes);
    nn::Sums sums;
    gradient.assign(model_.parameters(), 0);
    for (; !positions.empty(); positions.begin += buffer.batch().count) {
      const nn::MicroBatch& batch = buffer.fill(order, positions);
      sums += purpose == Purpose::evaluate
                  ? network.evaluate(parameters_.floats(), batch)
                  : network.train(parameters_.floats(), batch, gradient, true, nullptr);
    }
    return sums;
  }

  nn::Model model_{{8, 8, 1}, 4};
  const std::shared_ptr<WatchedData> train_ = std::make_shared<WatchedData>(synthetic(train_samples, 0));
  const DataSets data_{train_, synthetic(test_samples, 1)};
  Job job_;
  std::vector<Slice> slices_;
  Blob parameters_;
  Mail mail_;
};

TEST_F(ComputeNodeTest, GradientsEqualThoseOfANetworkAlone) {
  const auto node = this->node();
  for (const Interval positions : {Interval{0, 1}, {3, 36}, {100, 164}, {200, 500}}) {
    give(*node, compute(1, 1, positions));
    const Answer answer = this->answer();
    std::vector<float> expected;
    const nn::Sums sums = direct(positions, Purpose::train, expected);
    EXPECT_EQ(gradient(answer), expected);
    EXPECT_EQ(answer.report.loss, sums.loss);
    EXPECT_EQ(answer.report.correct, sums.correct);
  }
}

TEST_F(ComputeNodeTest, AnySplitHasTheSameSums) {
  std::vector<float> expected;
  const nn::Sums whole = direct({0, train_samples}, Purpose::train, expected);
  const auto node = this->node();
  Random random(1);
  for (int trial = 0; trial < 5; ++trial) {
    std::vector<float> sum(expected.size());
    nn::Sums sums;
    for (Interval rest{0, train_samples}; !rest.empty();) {
      const Position cut = std::min(rest.end, rest.begin + 1 + random.below(150));
      give(*node, compute(1, rest.begin, {rest.begin, cut}));
      const Answer answer = this->answer();
      const std::vector<float> part = gradient(answer);
      std::transform(sum.begin(), sum.end(), part.begin(), sum.begin(), std::plus<>());
      sums += {answer.report.loss, answer.report.correct};
      rest.begin = cut;
    }
    EXPECT_EQ(sums.correct, whole.correct);
    EXPECT_NEAR(sums.loss, whole.loss, 1e-5 * whole.loss);
    for (std::size_t i = 0; i < sum.size(); ++i)
      ASSERT_NEAR(sum[i], expected[i], 1e-3 + 1e-4 * std::abs(expected[i]));
  }
}

TEST_F(ComputeNodeTest, SlicesArePostedOnceFromLastToFirst) {
  const auto node = this->node();
  give(*node, compute(6, 42, {10, 80}));
  const Answer answer = this->answer();
  ASSERT_GT(slices_.size(), 3u);
  ASSERT_EQ(answer.finals.size(), slices_.size());
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const GradientReady& final = answer.finals[i];
    EXPECT_EQ(final.slice, slices_.size() - 1 - i);
    EXPECT_EQ(final.round, 6u);
    EXPECT_EQ(final.piece_id, 42u);
    EXPECT_TRUE(final.values.holds_floats(slices_[final.slice].size()));
  }
  EXPECT_TRUE(silent());
}

TEST_F(ComputeNodeTest, ReportsThePieceItWasGiven) {
  const auto node = this->node();
  give(*node, compute(6, 42, {10, 80}));
  const Report report = answer().report;
  EXPECT_EQ(report.term, 0u);
  EXPECT_EQ(report.piece.round, 6u);
  EXPECT_EQ(report.piece.purpose, Purpose::train);
  EXPECT_EQ(report.piece.id, 42u);
  EXPECT_EQ(report.piece.positions, (Interval{10, 80}));
  EXPECT_GT(report.seconds, 0);
  EXPECT_GT(report.loss, 0);
  EXPECT_LE(report.correct, 70u);
  EXPECT_GE(report.cpu, -1);
  EXPECT_LE(report.cpu, 1);
  EXPECT_GE(report.memory, -1);
}

TEST_F(ComputeNodeTest, EvaluatesWithoutGradients) {
  const auto node = this->node();
  give(*node, compute(6, 1, {0, test_samples}, Purpose::evaluate));
  const Answer answer = this->answer();
  std::vector<float> none;
  const nn::Sums sums = direct({0, test_samples}, Purpose::evaluate, none);
  EXPECT_TRUE(answer.finals.empty());
  EXPECT_EQ(answer.report.piece.purpose, Purpose::evaluate);
  EXPECT_EQ(answer.report.loss, sums.loss);
  EXPECT_EQ(answer.report.correct, sums.correct);
}

TEST_F(ComputeNodeTest, GradientsStayValidWhileReferenced) {
  auto node = this->node();
  give(*node, compute(1, 1, {0, 64}));
  const Answer first = answer();
  const std::vector<float> before = gradient(first);
  for (PieceId piece = 2; piece < 5; ++piece) {
    give(*node, compute(1, piece, {64 * piece, 64 * piece + 64}));
    EXPECT_NE(gradient(answer()), before);
  }
  node.reset();
  EXPECT_EQ(gradient(first), before);
}

TEST_F(ComputeNodeTest, AbandonsAPieceInProgress) {
  const auto node = this->node();
  train_->hold(40);  // the second micro-batch of the first piece cannot be read
  give(*node, compute(1, 1, {0, 500}));
  give(*node, compute(1, 2, {0, 100}));
  give(*node, compute(2, 3, {100, 200}));
  train_->wait_for(40);
  give(*node, Abandon{.before = 2});
  train_->release();
  const Answer answer = this->answer();
  EXPECT_EQ(answer.report.piece.id, 3u);
  EXPECT_THAT(answer.finals, testing::Each(testing::Field(&GradientReady::piece_id, 3u)));
  std::vector<float> expected;
  direct({100, 200}, Purpose::train, expected);
  EXPECT_EQ(gradient(answer), expected);
  EXPECT_TRUE(silent());
}

TEST_F(ComputeNodeTest, AbandonsOnlyEarlierPieces) {
  const auto node = this->node();
  give(*node, Abandon{.before = 100});
  give(*node, compute(50, 1, {0, 10}));  // rounds decrease on a resume from a checkpoint
  EXPECT_EQ(answer().report.piece.round, 50u);
}

TEST_F(ComputeNodeTest, ReadsAheadForAnnouncedPieces) {
  const auto node = this->node();
  give(*node, announcement(compute(1, 1, {0, 200})));
  give(*node, announcement(compute(1, 1, {0, 200})));  // a repetition is harmless
  train_->wait_for(32 * Feed::ahead);
  EXPECT_TRUE(silent());
  give(*node, compute(1, 1, {0, 200}));
  const Answer answer = this->answer();
  std::vector<float> expected;
  EXPECT_EQ(train_->times_read(), 200u);
  direct({0, 200}, Purpose::train, expected);
  EXPECT_EQ(gradient(answer), expected);
}

TEST_F(ComputeNodeTest, AnnouncementsMayBeOvertakenRepeatedOrAbandoned) {
  const auto node = this->node();
  std::vector<float> expected;
  for (int trial = 0; trial < 20; ++trial) {
    for (PieceId piece = 1; piece < 9; ++piece) {
      give(*node, announcement(compute(1, piece, {0, 10 * piece})));
    }
    for (const PieceId piece : {3, 2, 4, 8}) {
      give(*node, compute(1, piece, {0, 10 * piece}));
      const Answer answer = this->answer();
      EXPECT_EQ(answer.report.piece.id, piece);
      direct({0, 10 * piece}, Purpose::train, expected);
      ASSERT_EQ(gradient(answer), expected);
    }
    // A piece that was cut after its announcement does not use the samples read for it.
    give(*node, announcement(compute(1, 9, {0, 90})));
    give(*node, compute(1, 9, {0, 40}));
    EXPECT_EQ(answer().report.piece.positions, (Interval{0, 40}));
    give(*node, announcement(compute(1, 10, {0, 90})));
    give(*node, Abandon{.before = 2});
  }
  for (Round round = 0; round < 3000; ++round) give(*node, announcement(compute(round, round, {0, 500})));
  give(*node, compute(1, 1, {0, 10}));
  EXPECT_EQ(answer().report.piece.id, 1u);
}

TEST_F(ComputeNodeTest, InvalidPiecesAreIgnored) {
  const auto node = this->node();
  give(*node, compute(1, 1, {5, 5}));
  give(*node, compute(1, 2, {6, 5}));
  give(*node, compute(1, 3, {400, train_samples + 1}));
  give(*node, compute(1, 4, {0, test_samples + 1}, Purpose::evaluate));
  give(*node, announcement(compute(1, 5, {0, train_samples + 1})));
  EXPECT_EQ(node->ignored(), 5u);
  give(*node, compute(1, 6, {0, 5}));
  EXPECT_EQ(answer().report.piece.id, 6u);
}

TEST_F(ComputeNodeTest, CanBeDestroyedWhileComputing) {
  for (int i = 0; i < 10; ++i) {
    const auto node = this->node(i % 2 == 0 ? "1" : "3");
    for (PieceId piece = 0; piece < 20; ++piece) give(*node, compute(1, piece, {0, 500}));
    if (i % 3 == 0) answer();
  }
}

TEST_F(ComputeNodeTest, ThrottlingIsPartOfTheTime) {
  double fast_seconds = HUGE_VAL;
  {
    const auto node = this->node();
    for (int i = 0; i < 5; ++i) {
      give(*node, compute(1, 1, {0, 500}));
      fast_seconds = std::min(fast_seconds, answer().report.seconds);
    }
  }
  const auto node = this->node("30");
  give(*node, compute(1, 1, {0, 500}));
  EXPECT_GT(answer().report.seconds, fast_seconds);
}

// Like the counters of a machine that other programs use.
TEST_F(ComputeNodeTest, TheCpuShareLeftByOthersIsReported) {
  const auto node = this->node("1", "0.125");
  for (const Purpose purpose : {Purpose::train, Purpose::evaluate}) {
    give(*node, compute(1, 1, {0, 100}, purpose));
    const double cpu = answer().report.cpu;
    EXPECT_GE(cpu, 0) << "the throttle knows the share, whatever the counters show";
    EXPECT_LE(cpu, 0.125);
  }
}

// While it waits for its next task, in time for the plan of the next round.
TEST_F(ComputeNodeTest, TheMachineIsReadAfterAReport) {
  BoundedQueue<ToWorker> all(1 << 10);
  const auto post = [&](std::vector<ToWorker> messages) {
    for (ToWorker& message : messages) all.push(std::move(message));
  };
  ComputeNode node(post, model_workload(model_, data_), job_, Throttle::parse("1", "0.5"));
  give(node, compute(1, 1, {0, 100}));
  bool reported = false;
  while (true) {
    const ToWorker message = all.pop().value();
    if (const auto* computed = std::get_if<Computed>(&message)) {
      reported = true;
      EXPECT_GE(computed->report.now.cpu, 0);
      EXPECT_LE(computed->report.now.cpu, 0.5);
    }
    const auto* reading = std::get_if<MachineReading>(&message);
    if (reading == nullptr) continue;
    EXPECT_TRUE(reported);
    EXPECT_GE(reading->cpu, 0) << "the throttle knows the share, whatever the counters show";
    EXPECT_LE(reading->cpu, 0.5);
    break;
  }
}

std::string refusal(Mail& mail, const nn::Model& model, const DataSets& data, const Job& job) {
  try {
    const ComputeNode node(post_to(mail), model_workload(model, data), job);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no failure";
}

TEST_F(ComputeNodeTest, RefusesModelDataAndJobThatDoNotMatch) {
  Job job = job_;
  job.train_samples = 7;
  EXPECT_THAT(
      refusal(mail_, model_, data_, job),
      HasSubstr("the training set of data set 'fashion-mnist' has 500 samples here and 7 in the job"));
  job = job_;
  job.test_samples = 7;
  EXPECT_THAT(refusal(mail_, model_, data_, job),
              HasSubstr("the test set of data set 'fashion-mnist' has 130 samples"));
  job = job_;
  job.layout.tensors[0].shape[0] = 4;
  EXPECT_THAT(refusal(mail_, model_, data_, job),
              HasSubstr("parameters in other places than the scheduler's"));

  const auto numbered = std::make_shared<NumberedData>(500);
  EXPECT_THAT(refusal(mail_, model_, {numbered, numbered}, job_),
              HasSubstr("takes samples of 8 x 8 x 1 in 4"));
  EXPECT_THAT(refusal(mail_, nn::Model({8, 8, 1}, 4).relu(), data_, job_), HasSubstr("linear"));
}

}  // namespace
}  // namespace steelyard::node_test
