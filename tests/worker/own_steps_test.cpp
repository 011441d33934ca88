// Workers that take the optimizer steps: the versions that they pull, and the states that they load.
#include "worker/own_steps.h"

#include <limits>

#include "tests/worker/own_steps_case.h"

namespace steelyard::test::own_steps_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- the first version

TEST_F(OwnStepsTest, AFreshWorkerFollowsEveryVersionWithoutPieces) {
  EXPECT_THAT(pulled(), ElementsAre(0, 0));
  EXPECT_THAT(sent_of<Ready>(), IsEmpty()) << "the first version may be superseded";
  deliver(scheduler_node, roster());
  EXPECT_THAT(sent, IsEmpty());
  arrive_all(0);
  ASSERT_THAT(steps(), ElementsAre(0));
  EXPECT_THAT(sent_of<TakeStep>()[0].values.floats(), Each(0.0F));
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(true, 0)));
  for (Version version = 1; version <= 3; ++version) {
    EXPECT_THAT(pulled(), ElementsAre(version, version));
    arrive_all(version);
    ASSERT_THAT(steps(), ElementsAre(version));
    EXPECT_THAT(sent_of<TakeStep>()[0].values.floats(), Each(static_cast<float>(version)));
    EXPECT_THAT(sent_of<Ready>(), IsEmpty());
  }
}

TEST_F(OwnStepsTest, APieceIsComputedAfterTheStepOfItsVersion) {
  arrive_all(0);
  deliver(scheduler_node, start(1, 1, {0, 8}));
  EXPECT_THAT(pulled(), IsEmpty()) << "the pull is on its way already";
  arrive_all(1);
  std::vector<std::string> order;
  for (const Envelope& envelope : sent) {
    const auto* it = std::get_if<ToCompute>(&envelope.message);
    if (it == nullptr) continue;
    if (std::holds_alternative<TakeStep>(*it)) order.emplace_back("step");
    if (std::holds_alternative<Compute>(*it)) order.emplace_back("compute");
  }
  EXPECT_THAT(order, ElementsAre("step", "compute"));
}

// ---- a worker without state

TEST_F(OwnStepsTest, ALateWorkerLoadsAState) {
  come_late();
  ASSERT_THAT(sent_of<ReadState>(), SizeIs(1));
  EXPECT_EQ(sent_of<ReadState>()[0].file, nullptr) << "it has no state";
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(false, 0)));
  EXPECT_THAT(pulled(), IsEmpty());
  deliver(scheduler_node, roster());
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(false, 0))) << "the first one was lost";

  load(4, 6);
  ASSERT_THAT(sent_of<GetState>(), SizeIs(1));
  const GetState get = sent_of<GetState>()[0];
  EXPECT_EQ(std::tuple(get.term, get.attempt, get.version, get.part), std::tuple(term, 4U, 6U, 0U));
  EXPECT_THAT(pulled(), ElementsAre(7, 7)) << "the version after that of the state";
  deliver(scheduler_node, roster());
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(false, 4)));
  give_part(4, 6, 0);
  EXPECT_THAT(sent_of<GetState>(), SizeIs(2));
  give_part(4, 6, 2);
  EXPECT_THAT(sent_of<ReadState>(), IsEmpty());
  give_part(4, 6, 1);
  ASSERT_THAT(sent_of<ReadState>(), SizeIs(1));
  EXPECT_EQ(sent_of<ReadState>()[0].version, 6U);
  EXPECT_EQ(sent_of<ReadState>()[0].file, files.at(0));
  EXPECT_TRUE(files.at(0)->contents == state);
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(true, 0)));
}

TEST_F(OwnStepsTest, APieceOfTheLoadedVersionIsComputed) {
  come_late();
  load(4, 6);
  give_all_parts(4, 6);
  deliver(scheduler_node, start(6, 1, {0, 8}));
  ASSERT_THAT(sent_of<Compute>(), SizeIs(1));
  EXPECT_EQ(sent_of<Compute>()[0].parameters.floats().size(), 10U) << "without meaning";
  for (std::uint32_t slice = 0; slice < 3; ++slice) final(6, 1, slice);
  computed(6, 1, {0, 8});
  EXPECT_THAT(sent_of<Report>(), SizeIs(1));
  arrive_all(7);
  EXPECT_THAT(steps(), ElementsAre(7));
}

TEST_F(OwnStepsTest, VersionsThatArriveMeanwhileFollowTheState) {
  come_late();
  load(4, 6);
  arrive_all(7);
  EXPECT_THAT(steps(), ElementsAre(7)) << "the compute node holds it until it has the state";
  EXPECT_THAT(pulled(), ElementsAre(8, 8));
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(false, 4)));
  give_all_parts(4, 6);
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(true, 0)));
  deliver(scheduler_node, start(7, 1, {0, 8}));
  ASSERT_THAT(sent_of<Compute>(), SizeIs(1));
  EXPECT_THAT(sent_of<Compute>()[0].parameters.floats(), Each(7.0F));
}

TEST_F(OwnStepsTest, ALaterOrderReplacesALoad) {
  come_late();
  load(4, 6);
  give_part(4, 6, 0);
  load(4, 6);
  EXPECT_THAT(sent, IsEmpty()) << "repeated";
  load(3, 5);
  EXPECT_THAT(sent, IsEmpty()) << "late";
  load(5, 8);
  EXPECT_THAT(pulled(), ElementsAre(9, 9));
  give_part(4, 6, 1);
  EXPECT_THAT(sent_of<GetState>(), IsEmpty());
  give_all_parts(5, 8);
  EXPECT_EQ(sent_of<ReadState>().at(0).version, 8U);
  EXPECT_TRUE(files.at(1)->contents == state);
  load(6, 9);
  EXPECT_THAT(sent, IsEmpty()) << "it has a state";
}

TEST_F(OwnStepsTest, ASupersededStateIsLost) {
  come_late();
  load(4, 6);
  give_part(4, 6, 0);
  deliver(right, WorkerState{term, 4, 6, 1, 0, {}});
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(false, 0)));
  arrive_all(7);
  EXPECT_THAT(steps(), IsEmpty()) << "it follows the superseded state";
  EXPECT_THAT(ready(), IsEmpty());
  load(5, 8);
  EXPECT_EQ(sent_of<GetState>().at(0).attempt, 5U);
  EXPECT_THAT(pulled(), ElementsAre(9, 9));
}

TEST_F(OwnStepsTest, RequestsForPartsAreRepeated) {
  come_late();
  load(4, 6);
  wake(1);
  EXPECT_THAT(sent_of<GetState>(), IsEmpty());
  wake(2);
  EXPECT_THAT(sent_of<GetState>(), SizeIs(1));
  deliver(link_node, Disconnected{left});
  wake(1);
  EXPECT_THAT(sent_of<GetState>(), SizeIs(1)) << "at once if the connection broke";
}

// ---- a loss

TEST_F(OwnStepsTest, AMissedVersionLosesTheStateAndAllPieces) {
  arrive_all(0);
  deliver(scheduler_node, start(0, 1, {0, 8}));
  ASSERT_THAT(sent_of<Compute>(), SizeIs(1));
  deliver(left, VersionExpired{1, 3});
  EXPECT_THAT(sent_of<ReadState>(), SizeIs(1));
  ASSERT_THAT(sent_of<Abandon>(), SizeIs(1));
  EXPECT_EQ(sent_of<Abandon>()[0].before, std::numeric_limits<Round>::max());
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(false, 0)));
  computed(0, 1, {0, 8});
  EXPECT_THAT(sent_of<Report>(), IsEmpty()) << "another worker computes the piece";
}

TEST_F(OwnStepsTest, TheProgramMayLoseItsState) {
  arrive_all(0);
  deliver(link_node, StateLost{});
  EXPECT_THAT(sent_of<ReadState>(), SizeIs(1));
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(false, 0)));
  deliver(link_node, StateLost{});
  EXPECT_THAT(sent, IsEmpty()) << "it has none";
  load(4, 2);
  give_all_parts(4, 2);
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(true, 0)));
}

// The pull was on its way. Without the state, the program cannot take that step.
TEST_F(OwnStepsTest, AVersionThatArrivesAfterTheLossIsNotTaken) {
  arrive_all(0);
  deliver(link_node, StateLost{});
  arrive_all(1);
  EXPECT_THAT(steps(), IsEmpty());
  EXPECT_THAT(sent_of<Ready>(), Each(::testing::Field(&Ready::has_state, false)));
  deliver(scheduler_node, roster());
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(false, 0)));
}

// Only the servers have a first state; no worker uploads one.
TEST_F(OwnStepsTest, BeforeTheFirstRoundTheFirstVersionIsPulledAgain) {
  arrive_all(0);
  deliver(link_node, StateLost{});
  load(0, 0);
  EXPECT_THAT(pulled(), ElementsAre(0, 0));
  EXPECT_THAT(sent_of<GetState>(), IsEmpty());
  load(0, 0);
  EXPECT_THAT(sent, IsEmpty()) << "repeated";
  arrive_all(0);
  EXPECT_THAT(steps(), ElementsAre(0));
  EXPECT_THAT(ready(), ElementsAre(ReadyAnswer(true, 0)));
}

// ---- other jobs

TEST_F(WorkerTest, InOtherJobsMessagesAboutStatesAreIgnored) {
  join();
  const std::uint64_t before = worker.ignored();
  deliver(scheduler_node, UploadState{term, 2, 0});
  deliver(scheduler_node, LoadState{term, 2, 0});
  deliver(link_node, StateLost{});
  EXPECT_THAT(sent, IsEmpty());
  EXPECT_EQ(worker.ignored(), before + 3);
}

}  // namespace
}  // namespace steelyard::test::own_steps_test
