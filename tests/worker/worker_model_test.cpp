// A worker that brings the job's model along, and one that does not.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_model_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(WorkerTest, TellsTheModelThatItBringsUntilItIsWelcome) {
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
  Worker bringing(std::move(options));
  const auto told = [&](auto message) {
    Outbox out(self);
    bringing.step(now, {scheduler_node, self, Message(std::in_place_type<ToWorker>, std::move(message))},
                  out);
    said = out.take();
  };
  told(AskModel{});
  ASSERT_EQ(heard<ModelDescription>().size(), 1U);
  EXPECT_EQ(heard<ModelDescription>()[0].train_samples, 7U);
  told(AskWeights{5, {2, 6}});
  ASSERT_EQ(heard<Weights>().size(), 1U);
  EXPECT_EQ(heard<Weights>()[0].floats, (Interval{2, 6}));
  EXPECT_THAT(heard<Weights>()[0].values.floats(), ElementsAre(5.0F, 5.0F, 5.0F, 5.0F));
  for (const Interval beyond : {Interval{9, 11}, Interval{6, 2}}) told(AskWeights{5, beyond});
  EXPECT_THAT(said, IsEmpty());
  EXPECT_EQ(bringing.ignored(), 2U);
  told(Welcome{term, 0, make_job()});
  told(AskModel{});
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(WorkerTest, WithoutAModelDescribesNothing) {
  tell(scheduler_node, AskModel{});
  ASSERT_EQ(heard<ModelDescription>().size(), 1U);
  EXPECT_TRUE(heard<ModelDescription>()[0].layout.ranges.empty());
  tell(scheduler_node, AskWeights{1, {0, 4}});
  EXPECT_THAT(said, IsEmpty());
}

}  // namespace
}  // namespace steelyard::test::worker_model_test
