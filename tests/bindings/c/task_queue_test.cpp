#include "bindings/c/task_queue.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "core/error.h"

namespace steelyard::c_api::task_queue_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// Samples with the numbers 10 to 15, in two micro-batches.
class Numbers final : public Samples {
 public:
  const nn::MicroBatch* next() override {
    ++asked;
    if (given_ == 2) return nullptr;
    batch_ = {.inputs = nullptr,
              .labels = labels_.data() + 3 * given_,
              .positions = positions_.data() + 3 * given_,
              .size = 4,
              .count = 3,
              .seed = 1,
              .epoch = 7};
    ++given_;
    return &batch_;
  }
  [[nodiscard]] bool at_end() const override { return given_ == 2; }
  [[nodiscard]] bool wanted() const override { return wanted_; }
  void cancel() { wanted_ = false; }

  std::atomic<int> asked = 0;

 private:
  const std::vector<std::uint32_t> labels_{10, 11, 12, 13, 14, 15, 0};
  const std::vector<std::uint64_t> positions_{40, 41, 42, 43, 44, 45, 0};
  std::size_t given_ = 0;
  std::atomic<bool> wanted_ = true;
  nn::MicroBatch batch_;
};

// The engine computes on a thread of its own; the test is the caller.
class TaskQueueTest : public testing::Test {
 protected:
  void train() {
    sums_ = std::async(std::launch::async, [this] {
      return engine_->train(parameters_, samples_, gradient_, [this](std::uint64_t begin, std::uint64_t end) {
        weights_.push_back(engine_->weight());
        finals_.emplace_back(begin, end);
      });
    });
  }
  const TaskQueue::Task* take() { return task_queue_.take(steady_now() + from_seconds(30)); }
  template <class Work>
  static std::string refusal(Work work) {
    try {
      work();
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  }

  TaskQueue task_queue_;
  Numbers samples_;
  const std::unique_ptr<Engine> engine_ = engine_of(task_queue_);
  const std::vector<float> parameters_{1, 2, 3, 4};
  std::vector<float> gradient_ = std::vector<float>(4);
  Ranges finals_;
  std::vector<std::optional<double>> weights_;
  std::future<nn::Sums> sums_;
};

TEST_F(TaskQueueTest, ATaskGoesToTheCallerAndItsSumsBack) {
  train();
  const TaskQueue::Task* task = take();
  ASSERT_NE(task, nullptr);
  EXPECT_THAT(task->samples, ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_EQ(task->epoch, 7);
  EXPECT_EQ(task->position, 40);
  EXPECT_EQ(task->parameters.data(), parameters_.data());
  EXPECT_EQ(task->kind, TaskQueue::Kind::train);
  task->gradient[2] = 5;
  task_queue_.finish({1.5, 4});
  EXPECT_EQ(sums_.get(), (nn::Sums{1.5, 4}));
  EXPECT_EQ(gradient_[2], 5);
}

TEST_F(TaskQueueTest, RangesArePassedOnWithTheWeightSetBefore) {
  train();
  ASSERT_NE(take(), nullptr);
  task_queue_.weigh(2.5);
  task_queue_.final(1, 4);
  task_queue_.final(0, 1);
  EXPECT_THAT(refusal([&] { task_queue_.weigh(3); }), HasSubstr("set the weight before"));
  task_queue_.finish({});
  sums_.get();
  std::vector<bool> final(4);
  for (const auto& [begin, end] : finals_) {
    for (std::uint64_t at = begin; at < end; ++at) {
      EXPECT_FALSE(final[at]) << "final twice: " << at;
      final[at] = true;
    }
  }
  EXPECT_THAT(final, testing::Each(true));
  EXPECT_THAT(weights_, testing::Each(testing::Optional(2.5)));
  EXPECT_THAT(refusal([&] { task_queue_.final(0, 1); }), HasSubstr("no task is being computed"));
}

TEST_F(TaskQueueTest, RangesOutsideTheGradientAreRefused) {
  train();
  ASSERT_NE(take(), nullptr);
  EXPECT_THAT(refusal([&] { task_queue_.final(2, 5); }),
              HasSubstr("floats 2 to 5 are not within a gradient of 4"));
  EXPECT_THAT(refusal([&] { task_queue_.final(3, 2); }), HasSubstr("floats 3 to 2"));
  task_queue_.finish({});
  sums_.get();
  EXPECT_THAT(finals_, testing::IsEmpty());
}

TEST_F(TaskQueueTest, AnUnwantedTaskEndsWhenTheCallerGivesItUp) {
  train();
  ASSERT_NE(take(), nullptr);
  EXPECT_TRUE(task_queue_.wanted());
  samples_.cancel();
  EXPECT_FALSE(task_queue_.wanted());
  EXPECT_EQ(sums_.wait_for(std::chrono::seconds(0)), std::future_status::timeout)
      << "the caller may still write to the gradient";
  task_queue_.give_up();
  sums_.get();
}

TEST_F(TaskQueueTest, GivingUpAWantedTaskIsAnError) {
  train();
  ASSERT_NE(take(), nullptr);
  task_queue_.give_up();
  EXPECT_THAT(refusal([&] { sums_.get(); }), HasSubstr("before the last one was done"));
}

TEST_F(TaskQueueTest, ALeavingCallerMayGiveUpAWantedTask) {
  train();
  ASSERT_NE(take(), nullptr);
  task_queue_.leave();
  task_queue_.give_up();
  EXPECT_EQ(refusal([&] { sums_.get(); }), "");
}

TEST_F(TaskQueueTest, CallsOfWantedReachTheSamples) {
  train();
  ASSERT_NE(take(), nullptr);
  const int before = samples_.asked;
  EXPECT_TRUE(task_queue_.wanted());
  while (samples_.asked == before) std::this_thread::yield();
  task_queue_.finish({});
  sums_.get();
}

TEST_F(TaskQueueTest, AClosedQueueHasNoTasks) {
  train();
  ASSERT_NE(take(), nullptr);
  task_queue_.close();
  EXPECT_FALSE(task_queue_.wanted());
  EXPECT_EQ(take(), nullptr);
  task_queue_.give_up();
  sums_.get();
  EXPECT_TRUE(task_queue_.closed());
}

TEST_F(TaskQueueTest, AnUntakenTaskEndsWhenTheQueueCloses) {
  train();
  task_queue_.close();
  sums_.get();
}

TEST_F(TaskQueueTest, AnEvaluationHasAWeightButNoGradient) {
  sums_ = std::async(std::launch::async, [this] { return engine_->evaluate(parameters_, samples_); });
  const TaskQueue::Task* task = take();
  ASSERT_NE(task, nullptr);
  EXPECT_TRUE(task->gradient.empty());
  task_queue_.weigh(2.5);
  task_queue_.finish({3, 2});
  EXPECT_EQ(sums_.get(), (nn::Sums{3, 2}));
  EXPECT_EQ(engine_->weight(), 2.5);
}

// ---- tasks without samples

TEST_F(TaskQueueTest, AStepGoesToTheCaller) {
  Stepper* const stepper = engine_->stepper();
  ASSERT_NE(stepper, nullptr);
  auto step = std::async(std::launch::async, [&] { stepper->take_step(7, parameters_); });
  const TaskQueue::Task* task = take();
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(task->kind, TaskQueue::Kind::step);
  EXPECT_EQ(task->version, 7U);
  EXPECT_EQ(task->parameters.data(), parameters_.data());
  EXPECT_TRUE(task_queue_.wanted());
  EXPECT_THAT(refusal([&] { task_queue_.weigh(1); }), HasSubstr("no gradient"));
  EXPECT_EQ(step.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  task_queue_.finish({});
  step.get();
}

TEST_F(TaskQueueTest, StatesHaveAPath) {
  Stepper* const stepper = engine_->stepper();
  for (const auto kind : {TaskQueue::Kind::write_state, TaskQueue::Kind::read_state}) {
    auto done = std::async(std::launch::async, [&] {
      const bool reads = kind == TaskQueue::Kind::read_state;
      reads ? stepper->read_state(8, "there") : stepper->write_state(8, "there");
    });
    const TaskQueue::Task* task = take();
    ASSERT_NE(task, nullptr);
    EXPECT_EQ(task->kind, kind);
    EXPECT_EQ(task->version, 8U);
    EXPECT_EQ(task->path, "there");
    task_queue_.finish({});
    done.get();
  }
}

TEST_F(TaskQueueTest, GivingUpAStepIsAnErrorUnlessTheCallerLeaves) {
  for (const bool leaves : {false, true}) {
    auto step = std::async(std::launch::async, [&] { engine_->stepper()->take_step(7, parameters_); });
    ASSERT_NE(take(), nullptr);
    if (leaves) task_queue_.leave();
    task_queue_.give_up();
    EXPECT_EQ(refusal([&] { step.get(); }).empty(), leaves);
  }
}

TEST_F(TaskQueueTest, AStepEndsWhenTheQueueCloses) {
  auto step = std::async(std::launch::async, [&] { engine_->stepper()->take_step(7, parameters_); });
  task_queue_.close();
  step.get();
  engine_->stepper()->take_step(8, parameters_);
  EXPECT_EQ(take(), nullptr);
}

TEST_F(TaskQueueTest, AWaitingCallerCanBeWoken) {
  task_queue_.wake();
  EXPECT_EQ(take(), nullptr);
  EXPECT_EQ(task_queue_.take(steady_now()), nullptr);
}

}  // namespace
}  // namespace steelyard::c_api::task_queue_test
