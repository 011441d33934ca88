// A worker that describes the job's model, and one without a model.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_model_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(WorkerTest, DescribesItsModelUntilItIsWelcomed) {
  Worker::Options options{self, {0, "ann", {}}, {}, [](const Welcome&) {}};
  options.model = [] {
    Worker::Options::Model model;
    model.description.layout = make_job().layout;
    model.description.train_samples = 7;
    model.weights = [](std::uint64_t seed, Interval floats) {
      return Blob::copy_of(std::vector<float>(floats.size(), static_cast<float>(seed)));
    };
    return model;
  };
  Worker describing(std::move(options));
  const auto give = [&](auto message) {
    Outbox out(self);
    describing.step(now, {scheduler_node, self, Message(std::in_place_type<ToWorker>, std::move(message))},
                    out);
    sent = out.take();
  };
  give(AskModel{});
  ASSERT_EQ(sent_of<ModelDescription>().size(), 1U);
  EXPECT_EQ(sent_of<ModelDescription>()[0].train_samples, 7U);
  give(AskWeights{5, {2, 6}});
  ASSERT_EQ(sent_of<Weights>().size(), 1U);
  EXPECT_EQ(sent_of<Weights>()[0].floats, (Interval{2, 6}));
  EXPECT_THAT(sent_of<Weights>()[0].values.floats(), ElementsAre(5.0F, 5.0F, 5.0F, 5.0F));
  for (const Interval beyond : {Interval{9, 11}, Interval{6, 2}}) give(AskWeights{5, beyond});
  EXPECT_THAT(sent, IsEmpty());
  EXPECT_EQ(describing.ignored(), 2U);
  give(Welcome{term, 0, make_job()});
  give(AskModel{});
  EXPECT_THAT(sent, IsEmpty());
}

TEST_F(WorkerTest, WithoutAModelDescribesNothing) {
  deliver(scheduler_node, AskModel{});
  ASSERT_EQ(sent_of<ModelDescription>().size(), 1U);
  EXPECT_TRUE(sent_of<ModelDescription>()[0].layout.ranges.empty());
  deliver(scheduler_node, AskWeights{1, {0, 4}});
  EXPECT_THAT(sent, IsEmpty());
}

}  // namespace
}  // namespace steelyard::test::worker_model_test
