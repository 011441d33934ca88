// Workers that take the optimizer steps: how they upload their state, and how they end.
#include "tests/worker/own_steps_case.h"

namespace steelyard::test::own_upload_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- uploads

TEST_F(OwnStepsTest, AStateIsWrittenAndUploaded) {
  arrive_all(0);
  order_upload(2, 1);
  ASSERT_THAT(sent_of<WriteState>(), SizeIs(1));
  const WriteState write = sent_of<WriteState>()[0];
  EXPECT_EQ(std::tuple(write.attempt, write.version), std::tuple(2U, 1U));
  EXPECT_EQ(write.file, files.at(0));
  order_upload(2, 1);
  EXPECT_THAT(sent, IsEmpty()) << "repeated";
  arrive_all(1);
  files.at(0)->contents = state;
  deliver(compute_node, StateWritten{2});
  EXPECT_THAT(put(), ElementsAre(0));
  EXPECT_THAT(receivers(), ElementsAre(left));
  store(2, 0);
  EXPECT_THAT(put(), ElementsAre(1, 2));
  EXPECT_THAT(receivers(), ElementsAre(right, left));
  const PutState second = sent_of<PutState>()[0];
  EXPECT_EQ(std::tuple(second.term, second.attempt, second.version, second.parts),
            std::tuple(term, 2U, 1U, 3U));
  store(2, 2);
  EXPECT_THAT(sent_of<StateUploaded>(), IsEmpty());
  store(2, 1);
  EXPECT_EQ(std::tuple(uploaded().term, uploaded().attempt, uploaded().ok), std::tuple(term, 2U, true));
  store(2, 1);
  EXPECT_THAT(sent, IsEmpty());
}

TEST_F(OwnStepsTest, PartsAreRepeated) {
  arrive_all(0);
  order_upload(2, 0);
  files.at(0)->contents = state;
  deliver(compute_node, StateWritten{2});
  wake(1);
  EXPECT_THAT(put(), IsEmpty());
  wake(2);
  EXPECT_THAT(put(), ElementsAre(0));
  deliver(link_node, Disconnected{left});
  wake(1);
  EXPECT_THAT(put(), ElementsAre(0)) << "at once if the connection broke";
}

// The compute node writes a version until it takes the step of the next one.
TEST_F(OwnStepsTest, AVersionThatIsPastIsRefused) {
  for (const Version version : {0, 1, 2}) arrive_all(version);
  order_upload(2, 2);
  EXPECT_THAT(sent_of<WriteState>(), SizeIs(1)) << "the latest one";
  order_upload(3, 1);
  EXPECT_THAT(sent_of<WriteState>(), IsEmpty());
  EXPECT_FALSE(uploaded().ok);
  EXPECT_EQ(uploaded().attempt, 3U);
  EXPECT_THAT(uploaded().text, HasSubstr("later steps"));
}

TEST_F(OwnStepsTest, AWorkerWithoutStateRefusesToUpload) {
  come_late();
  order_upload(2, 5);
  EXPECT_FALSE(uploaded().ok);
  EXPECT_THAT(uploaded().text, HasSubstr("no state"));
}

TEST_F(OwnStepsTest, AFailureToWriteIsReported) {
  arrive_all(0);
  order_upload(2, 0);
  deliver(compute_node, StateWritten{2, "it has taken later steps"});
  EXPECT_FALSE(uploaded().ok);
  EXPECT_EQ(uploaded().text, "it has taken later steps");
}

TEST_F(OwnStepsTest, ALaterOrderReplacesAnUpload) {
  arrive_all(0);
  order_upload(2, 0);
  files.at(0)->contents = state;
  deliver(compute_node, StateWritten{2});
  order_upload(3, 1);
  EXPECT_THAT(sent_of<WriteState>(), SizeIs(1));
  order_upload(2, 0);
  EXPECT_THAT(sent, IsEmpty()) << "late";
  store(2, 0);
  EXPECT_THAT(sent, IsEmpty()) << "an answer to the former upload";
  files.at(1)->contents = state;
  deliver(compute_node, StateWritten{2});
  EXPECT_THAT(put(), IsEmpty());
  deliver(compute_node, StateWritten{3});
  EXPECT_THAT(put(), ElementsAre(0));
}

// ---- the end

TEST_F(OwnStepsTest, StopWaitsForTheLastStep) {
  arrive_all(0);
  arrive_all(1);
  deliver(compute_node, StepTaken{0});
  deliver(scheduler_node, Stop{Outcome::finished, "", true, 1, self});
  EXPECT_THAT(sent_of<Goodbye>(), IsEmpty());
  deliver(compute_node, StepTaken{1});
  EXPECT_THAT(sent_of<Goodbye>(), SizeIs(1));
  EXPECT_THAT(last, SizeIs(1));
  EXPECT_TRUE(worker.finished());
}

TEST_F(OwnStepsTest, StopWaitsForTheLastVersion) {
  arrive_all(0);
  deliver(compute_node, StepTaken{0});
  deliver(scheduler_node, Stop{Outcome::finished, "", true, 1, self});
  EXPECT_THAT(sent_of<Goodbye>(), IsEmpty());
  arrive_all(1);
  EXPECT_THAT(steps(), ElementsAre(1));
  EXPECT_FALSE(worker.finished());
  deliver(compute_node, StepTaken{1});
  EXPECT_TRUE(worker.finished());
}

TEST_F(OwnStepsTest, StopWaitsForNothingElse) {
  arrive_all(0);
  deliver(compute_node, StepTaken{0});
  deliver(scheduler_node, Stop{Outcome::finished, "", true, 0, self});
  EXPECT_TRUE(worker.finished()) << "the last step is taken";
}

TEST_F(OwnStepsTest, AWorkerWithoutStateLoadsTheLastOne) {
  come_late();
  deliver(scheduler_node, Stop{Outcome::finished, "", true, 9, self});
  EXPECT_FALSE(worker.finished());
  give_all_parts(4, 9);
  deliver(compute_node, StepTaken{9});
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(worker.exit_reason().stop().outcome, Outcome::finished);
}

TEST_F(OwnStepsTest, AWorkerThatCannotLoadTheLastStateDoesNotFinish) {
  come_late();
  deliver(scheduler_node, Stop{Outcome::finished, "", true, 9, self});
  wake(100'000);
  EXPECT_TRUE(worker.finished());
  EXPECT_EQ(worker.exit_reason().stop().outcome, Outcome::interrupted);
}

TEST_F(OwnStepsTest, AFailedJobHasNoLastStep) {
  arrive_all(0);
  deliver(scheduler_node, Stop{Outcome::server_lost, "gone"});
  EXPECT_TRUE(worker.finished());
}

}  // namespace
}  // namespace steelyard::test::own_upload_test
