// What a worker pays no attention to, and that it counts it.
#include "tests/worker/worker_case.h"

namespace steelyard::test::worker_ignores_test {
namespace {

TEST_F(WorkerTest, WhatIsIgnoredBeforeItBelongsIsCounted) {
  tell(scheduler_node, roster());
  EXPECT_EQ(worker.ignored(), 1U) << "nobody has welcomed it";
  tell(scheduler_node, Welcome{term, 0, make_job()});
  tell(scheduler_node, Roster{});
  EXPECT_EQ(worker.ignored(), 1U) << "there are no shards yet: that is an answer";
  tell(scheduler_node, Welcome{term, 0, make_job()});
  tell(scheduler_node, Refuse{});
  tell(scheduler_node, Roster{{{left, "tcp://a", 0, 1}}});
  tell(scheduler_node, Roster{{{left, "tcp://a", 0, 1}, {right, "tcp://b", 2, 3}}});
  EXPECT_EQ(worker.ignored(), 5U) << "late, late, and two rosters that leave slices out";
  tell(scheduler_node, start(0, 1, {0, 8}));
  EXPECT_EQ(worker.ignored(), 6U) << "nobody has said where the shards are";
}

TEST_F(WorkerTest, WhatIsIgnoredInARoundIsCounted) {
  join();
  arrive(4, 0, 1);
  EXPECT_EQ(worker.ignored(), 1U) << "nothing was asked for";
  tell(scheduler_node, start(4, 1, {8, 8}));
  EXPECT_EQ(worker.ignored(), 2U);
  tell(scheduler_node, start(4, 1, {0, 8}));
  tell(scheduler_node, start(4, 1, {0, 8}));
  EXPECT_EQ(worker.ignored(), 3U) << "known, and not done";
  arrive(3, 0, 1);
  arrive(4, 3, 1);
  tell(left, Parameters{term, 4, 0, Blob::copy_of(std::vector<float>(5, 1.0F))});
  tell(right, VersionExpired{7, 9});
  EXPECT_EQ(worker.ignored(), 7U) << "another version, slice, size, question";
  arrive_all(4);
  EXPECT_EQ(worker.ignored(), 7U);
  final(4, 2, 0);
  final(4, 1, 3);
  computed(4, 2, {0, 8});
  EXPECT_EQ(worker.ignored(), 10U) << "no such piece, slice, piece";
  final(4, 1, 0);
  computed(4, 1, {0, 8});
  tell(scheduler_node, start(4, 1, {0, 8}));
  tell(scheduler_node, Resend{term, 4, {0, 8}});
  EXPECT_EQ(worker.ignored(), 10U) << "the report and the push are said again";
  tell(scheduler_node, Resend{term, 4, {0, 4}});
  tell(scheduler_node, Resend{term + 1, 4, {0, 8}});
  EXPECT_EQ(worker.ignored(), 12U);
  arrive_all(5);
  tell(scheduler_node, start(4, 2, {0, 8}));
  EXPECT_EQ(worker.ignored(), 13U) << "past";
  tell(scheduler_node, Stop{});
  tell(scheduler_node, SchedulerBeat{term});
  EXPECT_EQ(worker.ignored(), 14U) << "it has ended";
}

TEST_F(WorkerTest, WhatIsForOthersIsIgnoredAndCounted) {
  Outbox out(self);
  worker.step(now, {scheduler_node, self, Message(std::in_place_type<ToShard>, BeginRound{})}, out);
  EXPECT_EQ(worker.ignored(), 1U);
  EXPECT_THAT(out.take(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace steelyard::test::worker_ignores_test
