// A worker computes a piece only to measure its time: it pushes nothing, and pieces of its own come first.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_trial_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class WorkerTrial : public WorkerTest {
 protected:
  void try_out(Round round, PieceId piece) {
    deliver(scheduler_node, TryOut{term, {piece, round, Purpose::train, 0, {10, 12}}});
  }
};

TEST_F(WorkerTrial, ItIsComputedWithTheParametersThatAreThere) {
  join();
  try_out(4, 5);
  ASSERT_THAT(sent_of<Compute>(), SizeIs(1));
  EXPECT_TRUE(sent_of<Compute>()[0].trial);
  EXPECT_TRUE(sent_of<Compute>()[0].parameters.holds_floats(10)) << "some, before the first version";
  EXPECT_THAT(receivers(), IsEmpty()) << "nothing is pulled";
  computed(4, 5, {10, 12});
  ASSERT_THAT(sent_of<Report>(), SizeIs(1));
  EXPECT_EQ(sent_of<Report>()[0].term, term);
  EXPECT_EQ(sent_of<Report>()[0].piece.id, 5U);
  EXPECT_EQ(sent_of<Report>()[0].seconds, 0.5);
  EXPECT_THAT(receivers(), IsEmpty()) << "nothing is pushed or pulled";

  deliver(scheduler_node, start(6, 7, {0, 4}));
  arrive_all(6);
  computed(6, 7, {0, 4});
  try_out(9, 8);
  ASSERT_THAT(sent_of<Compute>(), SizeIs(1));
  EXPECT_EQ(sent_of<Compute>()[0].parameters.floats()[0], 6.0F) << "the latest version";
}

TEST_F(WorkerTrial, APieceOfItsOwnEndsIt) {
  join();
  try_out(4, 5);
  deliver(scheduler_node, start(4, 6, {0, 4}));
  ASSERT_THAT(sent_of<Abandon>(), SizeIs(1));
  EXPECT_EQ(sent_of<Abandon>()[0].before, 5U);
  arrive_all(4);
  ASSERT_THAT(sent_of<Compute>(), SizeIs(1));
  EXPECT_EQ(sent_of<Compute>()[0].piece.id, 6U);
  computed(4, 5, {10, 12});  // it was done at the same time
  EXPECT_THAT(sent_of<Report>(), IsEmpty());
  computed(4, 6, {0, 4});
  EXPECT_THAT(sent_of<Report>(), SizeIs(1));
}

TEST_F(WorkerTrial, AWorkerThatIsBusyIgnoresIt) {
  join();
  deliver(scheduler_node, start(4, 5, {0, 4}));
  try_out(4, 6);
  EXPECT_THAT(sent_of<Compute>(), IsEmpty());
  arrive_all(4);
  computed(4, 5, {0, 4});
  try_out(5, 7);
  ASSERT_THAT(sent_of<Compute>(), SizeIs(1));
  try_out(5, 8);
  EXPECT_THAT(sent_of<Compute>(), IsEmpty()) << "one trial at a time";
}

TEST_F(WorkerTrial, ATrialThatDoesNotFitIsForgotten) {
  join();
  try_out(4, 5);
  deliver(compute_node, TrialTooLarge{});
  EXPECT_THAT(sent_of<Report>(), IsEmpty());
  try_out(4, 6);
  EXPECT_THAT(sent_of<Compute>(), SizeIs(1));
}

TEST_F(WorkerTrial, OneOfAnotherTermIsIgnored) {
  join();
  deliver(scheduler_node, TryOut{term + 1, {5, 4, Purpose::train, 0, {10, 12}}});
  deliver(scheduler_node, TryOut{term, {5, 4, Purpose::train, 0, {12, 12}}});
  EXPECT_THAT(sent_of<Compute>(), IsEmpty());
  EXPECT_EQ(worker.ignored(), 2U);
}

}  // namespace
}  // namespace steelyard::test::worker_trial_test
