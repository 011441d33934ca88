// Pieces that are cut during computation: in time, between two micro-batches, and too late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <semaphore>

#include "tests/worker/made_data.h"
#include "tests/worker/mail.h"
#include "worker/compute/batch_buffer.h"
#include "worker/compute/compute_node.h"

namespace steelyard::node_cut_test {
namespace {

using testing::ElementsAre;

constexpr std::uint32_t micro_batch = 5;

// Sums its samples; begins each micro-batch when the test releases it.
class SteppedEngine final : public Engine {
 public:
  explicit SteppedEngine(std::counting_semaphore<>& steps) : steps_(steps) {}
  nn::Sums train(std::span<const float>, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override {
    std::ranges::fill(gradient, 0.0F);
    nn::Sums sums;
    while (true) {
      steps_.acquire();
      const nn::MicroBatch* batch = samples.next();
      if (batch == nullptr) return sums;
      for (std::uint32_t i = 0; i < batch->count; ++i) gradient[0] += batch->inputs[2 * i];
      sums.correct += batch->count;
      if (samples.at_end()) on_final(0, gradient.size());
    }
  }
  nn::Sums evaluate(std::span<const float>, Samples&) override { return {}; }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return {micro_batch, 1}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }

 private:
  std::counting_semaphore<>& steps_;
};

class NodeCut : public testing::Test {
 protected:
  NodeCut() {
    append(job_.layout, "w", {2});
    job_.layout.slice_size = 1;
    job_.sync = parse_sync("flexrr");
    Workload workload{.layout = job_.layout,
                      .data = {std::make_shared<NumberedData>(100), nullptr, "numbers"}};
    workload.layout.slice_size = 0;
    workload.make_engine = [this] { return std::make_unique<SteppedEngine>(steps_); };
    node_ = std::make_unique<ComputeNode>(post_to(mail_), workload, job_);
  }
  ~NodeCut() override { steps_.release(1000); }

  void compute(PieceId piece, Interval positions) {
    const auto parameters = std::make_shared<FloatBuffer>(2);
    node_->give(Compute{{.id = piece, .round = 1, .positions = positions},
                        Blob::of_floats(parameters, parameters->span())});
  }
  // The node's next message.
  template <class Body>
  Body next() {
    return std::get<Body>(mail_.pop().value());
  }
  // Lets it begin `steps` micro-batches; it must report `done`.
  void begin(std::uint64_t done, int steps = 1) {
    steps_.release(steps);
    EXPECT_EQ(next<ComputeProgress>().done, done);
  }
  // Computes the rest of the piece. Returns its positions, their sum, and the progress reported.
  Interval finish(float& sum, std::vector<std::uint64_t>& progress) {
    steps_.release(100);
    while (true) {
      const ToWorker it = mail_.pop().value();
      if (const auto* advance = std::get_if<ComputeProgress>(&it)) progress.push_back(advance->done);
      if (const auto* ready = std::get_if<GradientReady>(&it); ready != nullptr && ready->slice == 0)
        sum = ready->values.floats()[0];
      if (const auto* computed = std::get_if<Computed>(&it)) {
        EXPECT_EQ(computed->report.correct, computed->report.piece.positions.size());
        while (steps_.try_acquire()) {
        }
        return computed->report.piece.positions;
      }
    }
  }
  static float sum_of(Interval positions, std::uint64_t seed) {
    const DataSets data{std::make_shared<NumberedData>(100), nullptr, "numbers"};
    const SampleOrder order(data, Purpose::train, seed, 0);
    float sum = 0, into[2] = {}, scratch[2] = {};
    std::uint32_t label = 0;
    for (Position at = positions.begin; at < positions.end; ++at) {
      order.read(at, into, &label, nullptr, scratch);
      sum += into[0];
    }
    return sum;
  }
  void expect_rest(Interval positions) {
    float sum = 0;
    std::vector<std::uint64_t> progress;
    EXPECT_EQ(finish(sum, progress), positions);
    EXPECT_EQ(sum, sum_of(positions, job_.seed));
  }

  std::counting_semaphore<> steps_{0};
  Mail mail_;
  Job job_;
  std::unique_ptr<ComputeNode> node_;
};

TEST_F(NodeCut, ReportsItsStartAndEveryEighth) {
  compute(1, {0, 80});
  steps_.release(1);
  const auto first = next<ComputeProgress>();
  EXPECT_EQ(first.piece_id, 1U);
  EXPECT_EQ(first.done, 0U);
  EXPECT_EQ(first.micro_batch, micro_batch);
  float sum = 0;
  std::vector<std::uint64_t> progress;
  EXPECT_EQ(finish(sum, progress), (Interval{0, 80}));
  for (const std::uint64_t part : {10U, 20U, 30U, 40U, 50U, 60U, 70U})
    EXPECT_THAT(progress, testing::Contains(part)) << "an eighth of it";
}

TEST_F(NodeCut, EndsAtACutBetweenTwoMicroBatches) {
  compute(1, {20, 80});
  begin(0);
  node_->give(Cut{0, 1, 40});
  steps_.release(1);
  EXPECT_EQ(next<CutTried>().end, 40U);
  expect_rest({20, 40});
}

TEST_F(NodeCut, EndsAtOnceAtACutAfterTheCurrentMicroBatch) {
  compute(1, {20, 80});
  begin(0);
  node_->give(Cut{0, 1, 25});
  steps_.release(1);
  EXPECT_EQ(next<CutTried>().end, 25U);
  expect_rest({20, 25});
}

TEST_F(NodeCut, ContinuesIfTheCutComesTooLate) {
  compute(1, {20, 80});
  begin(0);
  begin(10, 2);  // reported every eighth of sixty, 7.5
  node_->give(Cut{0, 1, 25});
  steps_.release(1);
  EXPECT_EQ(next<CutTried>().end, 80U) << "it has begun samples behind the cut";
  node_->give(Cut{0, 1, 60});
  steps_.release(3);
  auto it = mail_.pop().value();
  while (std::holds_alternative<ComputeProgress>(it)) it = mail_.pop().value();
  EXPECT_EQ(std::get<CutTried>(it).end, 60U) << "but a later one may be in time";
  expect_rest({20, 60});
}

// Its report is the answer.
TEST_F(NodeCut, ACutDuringTheLastMicroBatchIsNotAnswered) {
  compute(1, {0, 10});
  begin(0);
  steps_.release(1);
  EXPECT_EQ(next<ComputeProgress>().done, 5U);
  node_->give(Cut{0, 1, 5});
  steps_.release(10);
  ToWorker it = mail_.pop().value();
  if (std::holds_alternative<ComputeProgress>(it)) it = mail_.pop().value();
  EXPECT_TRUE(std::holds_alternative<GradientReady>(it));
  EXPECT_TRUE(std::holds_alternative<GradientReady>(mail_.pop().value()));
  EXPECT_EQ(next<Computed>().report.piece.positions, (Interval{0, 10}));
}

// A cut of a queued piece is answered when that piece begins. The next piece finds its samples behind those
// that were read for nothing.
TEST_F(NodeCut, ACutOfAQueuedPieceAffectsNoOtherPiece) {
  compute(1, {0, 20});
  begin(0);
  compute(2, {20, 100});
  compute(3, {0, 30});
  node_->give(Cut{0, 2, 30});
  node_->give(Cut{0, 9, 30});  // an unknown piece
  expect_rest({0, 20});
  steps_.release(1);
  EXPECT_EQ(next<CutTried>().end, 30U);
  expect_rest({20, 30});
  expect_rest({0, 30});
}

}  // namespace
}  // namespace steelyard::node_cut_test
