// Trials: pieces that are computed for their time only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "nn/cuda/runtime.h"
#include "tests/worker/mail.h"
#include "worker/compute/compute_node.h"
#include "worker/data/sets/synthetic.h"

namespace steelyard::trial_test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t holds = 40;  // samples; the engine needs memory for the whole piece

class GreedyEngine final : public Engine {
 public:
  explicit GreedyEngine(bool on_device) : on_device_(on_device) {}
  nn::Sums train(std::span<const float>, Samples& samples, std::span<float> gradient,
                 const FinalRange& on_final) override {
    std::uint64_t had = 0;
    while (const nn::MicroBatch* batch = samples.next()) {
      had += batch->count;
      if (had > holds && on_device_) throw nn::cuda::OutOfMemory(4, 1);
      if (had > holds) throw std::bad_alloc();
    }
    on_final(0, gradient.size());
    return {};
  }
  nn::Sums evaluate(std::span<const float>, Samples&) override { return {}; }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return {8, 1}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 0; }

 private:
  const bool on_device_;
};

class Trial : public testing::TestWithParam<bool> {
 protected:
  Trial() {
    append(job_.layout, "w", {6});
    job_.layout.slice_size = 6;
    job_.train_samples = 200;
    const auto data = std::make_shared<const SyntheticDataSet>(
        SyntheticOptions{.samples = 200, .classes = 2, .shape = {2, 2, 1}});
    workload_.layout = job_.layout;
    workload_.make_engine = [this] { return std::make_unique<GreedyEngine>(GetParam()); };
    workload_.data = {data, data};
    parameters_ = Blob::copy_of(std::vector<float>(6, 1.0F));
  }
  std::unique_ptr<ComputeNode> node() {
    return std::make_unique<ComputeNode>(post_to(mail_), workload_, job_);
  }
  [[nodiscard]] Compute piece(std::uint64_t samples, bool trial) const {
    return {{.positions = {0, samples}}, parameters_, trial};
  }

  Job job_;
  Workload workload_;
  Blob parameters_;
  Mail mail_;
};

TEST_P(Trial, HasATimeAndNoGradient) {
  const auto node = this->node();
  node->give(piece(32, true));
  const ToWorker answer = mail_.pop().value();
  ASSERT_TRUE(std::holds_alternative<Computed>(answer));
  EXPECT_EQ(std::get<Computed>(answer).report.piece.positions, (Interval{0, 32}));
  EXPECT_GT(std::get<Computed>(answer).report.seconds, 0);
}

TEST_P(Trial, TooLargeForTheMemoryIsAnAnswer) {
  const auto node = this->node();
  node->give(piece(64, true));
  EXPECT_TRUE(std::holds_alternative<TrialTooLarge>(mail_.pop().value()));
  node->give(piece(32, true));
  EXPECT_TRUE(std::holds_alternative<Computed>(mail_.pop().value())) << "it continues";
  node->give(piece(16, false));
  EXPECT_TRUE(std::holds_alternative<GradientReady>(mail_.pop().value()));
  EXPECT_FALSE(node->failure().has_value());
}

TEST_P(Trial, IfNotEvenAGrainFitsComputingEnds) {
  job_.grain = workload_.grain = 64;
  const auto node = this->node();
  node->give(piece(64, true));
  ASSERT_TRUE(std::holds_alternative<Interrupt>(mail_.pop().value()));
  EXPECT_THAT(node->failure()->what(), HasSubstr("memory"));
}

TEST_P(Trial, APieceOfARoundThatDoesNotFitEndsComputing) {
  const auto node = this->node();
  node->give(piece(64, false));
  EXPECT_TRUE(std::holds_alternative<Interrupt>(mail_.pop().value()));
}

INSTANTIATE_TEST_SUITE_P(Memory, Trial, testing::Bool());

}  // namespace
}  // namespace steelyard::trial_test
