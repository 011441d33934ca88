// When loading progress and storage trouble are reported.
#include "scheduler/members/load_monitor.h"

#include <gmock/gmock.h>

namespace steelyard::load_monitor_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Time begun{std::chrono::seconds(1)};
Time after(double s) { return begun + from_seconds(s); }

class LoadMonitorTest : public ::testing::Test {
 protected:
  LoadMonitorTest() {
    add(0, "ann", "tcp://a:1");
    add(1, "ben", "tcp://b:2");
  }
  void add(std::uint32_t slot, const std::string& name, const std::string& endpoint) {
    ShardMember& shard = members.shards[slot];
    shard.node = {Role::shard, slot + 1};
    shard.name = name;
    shard.endpoint = endpoint;
    shard.parts_in_all = 50;
  }

  Members members;
  LoadMonitor watch;
};

TEST_F(LoadMonitorTest, ReportsLoadingProgressAtGrowingIntervals) {
  EXPECT_THAT(watch.loading(after(0), members), IsEmpty());
  EXPECT_THAT(watch.loading(after(4), members), IsEmpty()) << "most models are loaded by then";
  members.shards[0].parts = 30;
  members.shards[1].parts = 10;
  EXPECT_THAT(watch.loading(after(5), members),
              ElementsAre("sending the initial state to 2 servers: 40 % after 5 s"));
  EXPECT_THAT(watch.loading(after(9), members), IsEmpty());
  EXPECT_THAT(watch.loading(after(10), members), ElementsAre(HasSubstr("40 % after 10 s")));
  EXPECT_THAT(watch.loading(after(19), members), IsEmpty());
  EXPECT_THAT(watch.loading(after(20), members), ElementsAre(HasSubstr("after 20 s")));
}

TEST_F(LoadMonitorTest, LoadingFailsAfterTenMinutesWithoutProgress) {
  members.shards[0].loaded = true;
  for (double s = 0; s < 700; s += 10) {
    members.shards[1].parts = s < 120 ? static_cast<std::uint64_t>(s / 10) : 11;
    watch.loading(after(s), members);
    EXPECT_FALSE(watch.cannot_load(after(s), members)) << s;
  }
  watch.loading(after(711), members);
  const auto why = watch.cannot_load(after(711), members);
  ASSERT_TRUE(why);
  EXPECT_THAT(*why,
              AllOf(HasSubstr("'ben' at tcp://b:2"), HasSubstr("10 minutes"), HasSubstr("--advertise")));
  members.shards[1].loaded = true;
  watch.loading(after(712), members);
  EXPECT_FALSE(watch.cannot_load(after(712), members));
}

TEST_F(LoadMonitorTest, NamesServersTheCheckpointerCannotReach) {
  watch.heard(after(0), {{{members.shards[1].node, ""}}});
  EXPECT_THAT(watch.unreached(after(0), members), IsEmpty());
  EXPECT_THAT(watch.unreached(after(5), members),
              ElementsAre(AllOf(HasSubstr("server 'ben' at tcp://b:2 does not answer"),
                                HasSubstr("tcp://b:2"), HasSubstr("--advertise of 'ben'"))));
  EXPECT_THAT(watch.unreached(after(9), members), IsEmpty());
  EXPECT_EQ(watch.unreached(after(10), members).size(), 1U) << "repeated";
  watch.heard(after(11), {});
  EXPECT_THAT(watch.unreached(after(11), members), IsEmpty());
  watch.heard(after(12), {{{members.shards[1].node, "cannot connect to tcp://b:2"}}});
  EXPECT_THAT(watch.unreached(after(12), members), IsEmpty());
  EXPECT_THAT(watch.unreached(after(17), members), ElementsAre(HasSubstr("cannot connect to tcp://b:2")));
}

TEST_F(LoadMonitorTest, HangingStorageIsReportedWhileACheckpointWaits) {
  EXPECT_THAT(watch.storage(after(100), true), IsEmpty()) << "there is no checkpointer yet";
  watch.heard(after(100), {});
  EXPECT_THAT(watch.storage(after(109), true), IsEmpty());
  EXPECT_THAT(watch.storage(after(111), false), IsEmpty()) << "nothing waits for it";
  EXPECT_THAT(watch.storage(after(111), true),
              ElementsAre(AllOf(HasSubstr("storage of the run directory"), HasSubstr("11 s"))));
  EXPECT_THAT(watch.storage(after(120), true), IsEmpty());
  EXPECT_EQ(watch.storage(after(123), true).size(), 1U);
  EXPECT_FALSE(watch.cannot_save(after(699)));
  EXPECT_TRUE(watch.cannot_save(after(700)));
  watch.answered(after(701));
  EXPECT_THAT(watch.storage(after(702), true), IsEmpty());
  EXPECT_FALSE(watch.cannot_save(after(702)));
}

}  // namespace
}  // namespace steelyard::load_monitor_test
