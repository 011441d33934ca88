// How a shard closes rounds with skipped positions.
#include "server/shard/slice_memory.h"

#include "tests/server/shard/shard_case.h"

namespace steelyard::skipped_positions_test {
namespace {

using test::shard_job;
using test::ShardCase;

// With backup workers, skipped positions inside a round belong to other rounds.
TEST(Holes, SkippedPositionsAreNeitherAddedNorRequired) {
  ShardCase it(shard_job());
  it.load();
  it.finish(0, {4, 8});  // comes before the BeginRound
  it.deliver(scheduler_node, BeginRound{it.term, 0, 0, {0, 16}, 16, false, false, {}, {{4, 8}, {10, 12}}});
  it.finish(0, {8, 16});
  EXPECT_EQ(it.shard.counts().repeated, 2 * it.slices.size())
      << "one push is in a skipped interval, one lies across one";
  EXPECT_EQ(it.shard.version(), 0U);
  it.wake(10);
  EXPECT_THAT(it.sent<ShardBeat>().back().gaps,
              testing::ElementsAre(Interval{0, 4}, Interval{8, 10}, Interval{12, 16}));
  for (const Interval part : {Interval{0, 4}, {8, 10}, {12, 16}}) it.finish(0, part);
  EXPECT_EQ(it.shard.version(), 1U);
}

TEST(Holes, InvalidHolesAreIgnored) {
  for (const std::vector<Interval>& skipped : std::vector<std::vector<Interval>>{
           {{0, 17}}, {{8, 4}}, {{4, 4}}, {{0, 8}, {4, 12}}, {{0, 8}, {8, 16}}}) {
    ShardCase it(shard_job());
    it.load();
    it.deliver(scheduler_node, BeginRound{it.term, 0, 0, {0, 16}, 16, false, false, {}, skipped});
    EXPECT_EQ(it.shard.counts().ignored, 1U);
  }
}

}  // namespace
}  // namespace steelyard::skipped_positions_test
