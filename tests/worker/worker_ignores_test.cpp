// Messages that a worker ignores and counts.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_ignores_test {
namespace {

TEST_F(WorkerTest, MessagesIgnoredBeforeJoiningAreCounted) {
  deliver(scheduler_node, roster());
  EXPECT_EQ(worker.ignored(), 1U) << "no Welcome has arrived";
  deliver(scheduler_node, Welcome{term, 0, make_job()});
  deliver(scheduler_node, Roster{});
  EXPECT_EQ(worker.ignored(), 1U) << "an empty roster is valid: there are no shards yet";
  deliver(scheduler_node, Welcome{term, 0, make_job()});
  deliver(scheduler_node, Refuse{});
  deliver(scheduler_node, Roster{{{left, "tcp://a", 0, 1}}});
  deliver(scheduler_node, Roster{{{left, "tcp://a", 0, 1}, {right, "tcp://b", 2, 3}}});
  EXPECT_EQ(worker.ignored(), 5U) << "two late messages, and two rosters without some slices";
  deliver(scheduler_node, start(0, 1, {0, 8}));
  EXPECT_EQ(worker.ignored(), 6U) << "no roster has arrived";
}

TEST_F(WorkerTest, MessagesIgnoredInARoundAreCounted) {
  join();
  arrive(4, 0, 1);
  EXPECT_EQ(worker.ignored(), 1U) << "nothing was pulled";
  deliver(scheduler_node, start(4, 1, {8, 8}));
  EXPECT_EQ(worker.ignored(), 2U);
  deliver(scheduler_node, start(4, 1, {0, 8}));
  deliver(scheduler_node, start(4, 1, {0, 8}));
  EXPECT_EQ(worker.ignored(), 3U) << "known, and not done";
  arrive(3, 0, 1);
  arrive(4, 3, 1);
  deliver(left, Parameters{term, 4, 0, Blob::copy_of(std::vector<float>(5, 1.0F))});
  deliver(right, VersionExpired{7, 9});
  EXPECT_EQ(worker.ignored(), 7U) << "another version, slice, size, pull";
  arrive_all(4);
  EXPECT_EQ(worker.ignored(), 7U);
  final(4, 2, 0);
  final(4, 1, 3);
  computed(4, 2, {0, 8});
  EXPECT_EQ(worker.ignored(), 10U) << "no such piece, slice, piece";
  final(4, 1, 0);
  computed(4, 1, {0, 8});
  deliver(scheduler_node, start(4, 1, {0, 8}));
  deliver(scheduler_node, Resend{term, 4, {0, 8}});
  EXPECT_EQ(worker.ignored(), 10U) << "the report and the push are repeated";
  deliver(scheduler_node, Resend{term, 4, {0, 4}});
  deliver(scheduler_node, Resend{term + 1, 4, {0, 8}});
  EXPECT_EQ(worker.ignored(), 12U);
  arrive_all(5);
  deliver(scheduler_node, start(4, 2, {0, 8}));
  EXPECT_EQ(worker.ignored(), 13U) << "the round is over";
  deliver(scheduler_node, Stop{});
  deliver(scheduler_node, SchedulerBeat{term});
  EXPECT_EQ(worker.ignored(), 14U) << "it has ended";
}

TEST_F(WorkerTest, MessagesForOthersAreIgnoredAndCounted) {
  Outbox out(self);
  worker.step(now, {scheduler_node, self, Message(std::in_place_type<ToShard>, BeginRound{})}, out);
  EXPECT_EQ(worker.ignored(), 1U);
  EXPECT_THAT(out.take(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace steelyard::test::worker_ignores_test
