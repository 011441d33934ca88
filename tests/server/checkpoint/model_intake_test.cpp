// The model and its initial weights, received from the first worker that has them.
#include "server/checkpoint/model_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace steelyard::model_intake_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const NodeId ann{Role::worker, 5}, bob{Role::worker, 6}, server{Role::shard, 9};
constexpr std::uint64_t seed = 77, most = ModelIntake::floats_at_a_time;

class ModelIntakeTest : public ::testing::Test {
 protected:
  static ModelDescription described(std::uint64_t floats = most + 10) {
    ModelDescription model;
    append(model.layout, "w", {floats - 4});
    append(model.layout, "b", {4});
    model.train_samples = 1000;
    return model;
  }
  template <class Content>
  void deliver(NodeId from, Content message) {
    Outbox out(scheduler_node);
    intake.step(now, {from, scheduler_node, Message(std::in_place_type<ToScheduler>, std::move(message))},
                out);
    take(out);
  }
  void wake(double later) {
    now = now + from_seconds(later);
    Outbox out(scheduler_node);
    intake.wake(now, out);
    take(out);
  }
  void take(Outbox& out) {
    output.clear();
    for (Envelope& envelope : out.take()) {
      if (const auto* it = std::get_if<ToRecorder>(&envelope.message)) {
        notes.push_back(std::get<Note>(*it).text);
      } else {
        output.push_back(std::move(envelope));
      }
    }
  }
  void hello(NodeId from, const std::string& name = "ann") { deliver(from, Hello{0, name, {}}); }
  void weights(NodeId from, Interval floats) {
    std::vector<float> values(floats.size());
    std::iota(values.begin(), values.end(), static_cast<float>(floats.begin));
    deliver(from, Weights{floats, Blob::copy_of(values)});
  }
  // The only message sent, if it went to this worker.
  template <class Content>
  [[nodiscard]] const Content* only_message_to(NodeId to) const {
    if (output.size() != 1 || output[0].to != to) return nullptr;
    return std::get_if<Content>(std::get_if<ToWorker>(&output[0].message));
  }

  Time now{std::chrono::seconds(1)};
  std::vector<Envelope> output;
  std::vector<std::string> notes;
  static constexpr std::uint64_t memory = std::uint64_t{1} << 30;
  ModelIntake intake{seed, from_seconds(10), memory};
};

TEST_F(ModelIntakeTest, RequestsTheModelThenItsWeightsInParts) {
  hello(ann);
  ASSERT_TRUE(only_message_to<AskModel>(ann));
  deliver(ann, described());
  const auto* first = only_message_to<AskWeights>(ann);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->seed, seed);
  EXPECT_EQ(first->floats, (Interval{0, most}));
  weights(ann, {0, most});
  ASSERT_TRUE(only_message_to<AskWeights>(ann));
  EXPECT_EQ(only_message_to<AskWeights>(ann)->floats, (Interval{most, most + 10}));
  EXPECT_FALSE(intake.finished());
  weights(ann, {most, most + 10});
  EXPECT_TRUE(intake.finished() && intake.complete());
  EXPECT_EQ(intake.model().train_samples, 1000U);
  const std::vector<float> all = intake.take_weights();
  ASSERT_EQ(all.size(), most + 10);
  for (std::uint64_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<float>(i));
}

TEST_F(ModelIntakeTest, LostMessagesAreRequestedAgain) {
  hello(ann);
  hello(ann);
  EXPECT_TRUE(only_message_to<AskModel>(ann));
  deliver(ann, described());
  hello(ann);
  ASSERT_TRUE(only_message_to<AskWeights>(ann));
  weights(ann, {0, most});
  weights(ann, {0, most});
  EXPECT_THAT(output, IsEmpty()) << "a duplicate part must be ignored";
  weights(ann, {most, most + 10});
  EXPECT_EQ(intake.take_weights().size(), most + 10);
}

TEST_F(ModelIntakeTest, OnlyOneIsAskedAndTheOthersGetHeartbeats) {
  hello(ann);
  hello(bob, "bob");
  EXPECT_TRUE(only_message_to<SchedulerBeat>(bob));
  deliver(bob, described());
  EXPECT_THAT(output, IsEmpty()) << "an unrequested model must be ignored";
  hello(server, "server-0");
  ASSERT_EQ(output.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<SchedulerBeat>(std::get<ToShard>(output[0].message)));
}

TEST_F(ModelIntakeTest, AWorkerWithoutAModelIsNotAskedAgain) {
  hello(ann);
  deliver(ann, ModelDescription{});
  EXPECT_THAT(notes, ElementsAre("worker 'ann' cannot provide the model: it brings no model"));
  hello(ann);
  EXPECT_TRUE(only_message_to<SchedulerBeat>(ann));
  hello(bob, "bob");
  EXPECT_TRUE(only_message_to<AskModel>(bob));
}

TEST_F(ModelIntakeTest, ALostOrSilentWorkerIsReplacedByTheNext) {
  hello(ann);
  deliver(ann, described());
  weights(ann, {0, most});
  deliver(ann, Disconnected{ann});
  hello(bob, "bob");
  deliver(bob, described(40));
  wake(9.9);
  hello(bob, "bob");
  wake(9.9);
  EXPECT_EQ(intake.deadline(), now + from_seconds(0.1));
  wake(0.1);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("connection is lost"), HasSubstr("does not answer")));
  const NodeId third{Role::worker, 8};
  hello(third, "cid");
  deliver(third, described(40));
  weights(third, {0, 40});
  EXPECT_TRUE(intake.complete());
  EXPECT_EQ(intake.take_weights().size(), 40U) << "the first worker's weights must be discarded";
}

TEST_F(ModelIntakeTest, InvalidModelsAreRefused) {
  ModelDescription holes = described(40), empty = described(40);
  holes.layout.tensors[1].offset = 3;
  empty.train_samples = 0;
  hello(ann);
  deliver(ann, holes);
  hello(bob, "bob");
  deliver(bob, empty);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("its tensors have holes"), HasSubstr("no training samples")));
}

// A description of a few bytes must not make the scheduler allocate much.
TEST_F(ModelIntakeTest, AModelLargerThanMemoryIsRefusedByName) {
  hello(ann);
  deliver(ann, described(std::uint64_t{1} << 60));
  EXPECT_THAT(notes, ElementsAre(testing::AllOf(HasSubstr("'ann'"), HasSubstr("1072 MB of memory"))));
  hello(bob, "bob");
  deliver(bob, described(memory / sizeof(float)));
  EXPECT_TRUE(only_message_to<AskWeights>(bob));
  EXPECT_EQ(notes.size(), 1U);
}

// Each part arrives before its timeout, but all of them would take hours.
TEST_F(ModelIntakeTest, ASlowWorkerIsReplacedByTheNext) {
  hello(ann);
  const std::uint64_t parts = 40;
  deliver(ann, described(parts * most));
  for (std::uint64_t part = 0; part < parts - 1 && notes.empty(); ++part) {
    wake(9);
    if (notes.empty()) weights(ann, {part * most, (part + 1) * most});
  }
  ASSERT_THAT(notes, ElementsAre(HasSubstr("too slow")));
  hello(bob, "bob");
  EXPECT_TRUE(only_message_to<AskModel>(bob));
}

TEST_F(ModelIntakeTest, ALargeModelGetsMoreTime) {
  hello(ann);
  const std::uint64_t parts = 250;
  deliver(ann, described(parts * most));
  for (std::uint64_t part = 0; part < parts; ++part) {
    wake(0.6);
    weights(ann, {part * most, (part + 1) * most});
  }
  EXPECT_TRUE(intake.complete());
  EXPECT_THAT(notes, IsEmpty());
}

TEST_F(ModelIntakeTest, WeightsOfAnotherSizeAreIgnored) {
  hello(ann);
  deliver(ann, described(40));
  deliver(ann, Weights{{0, 40}, Blob::copy_of(std::vector<float>(39))});
  deliver(ann, Weights{{1, 40}, Blob::copy_of(std::vector<float>(39))});
  EXPECT_FALSE(intake.finished());
  weights(ann, {0, 40});
  EXPECT_TRUE(intake.complete());
}

TEST_F(ModelIntakeTest, EndsIfAProcessFailsOrTheJobIsInterrupted) {
  hello(ann);
  deliver(ann, Goodbye{"no memory"});
  EXPECT_FALSE(intake.finished()) << "other workers may join";
  ModelIntake other{seed, from_seconds(10), memory};
  Outbox out(scheduler_node);
  other.step(now, {link_node, scheduler_node, Message(std::in_place_type<ToScheduler>, Goodbye{})}, out);
  EXPECT_TRUE(other.finished());
  EXPECT_FALSE(other.complete());
  deliver(link_node, Interrupt{});
  EXPECT_TRUE(intake.finished());
  EXPECT_FALSE(intake.complete());
  EXPECT_EQ(intake.deadline(), Time::max());
}

}  // namespace
}  // namespace steelyard::model_intake_test
