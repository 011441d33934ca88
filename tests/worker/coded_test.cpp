// The worker with coded pushes and pulls: a repeated push has the same bytes, and differences are added to
// the current parameters.
#include "worker/version_buffer.h"

#include "tests/worker/worker_case.h"

namespace steelyard::test::coded_test {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CodedTest : public WorkerTest {
 protected:
  static Job coded_job() {
    Job job = make_job();
    job.push_encoding = job.pull_encoding = FloatCode::int4;
    return job;
  }
  void join_coded() {
    wake(0);
    deliver(scheduler_node, Welcome{term, 0, coded_job()});
    reach_shards();
  }
  void deliver_difference(Version version, std::uint32_t slice, float value) {
    const Blob coded = encode(FloatCode::int4, std::vector<float>(slice == 2 ? 2 : 4, value));
    Parameters difference{term, version, slice, coded};
    difference.difference = true;
    deliver(slice == 0 ? left : right, difference);
  }
};

TEST_F(CodedTest, ARepeatedPushHasTheSameBytes) {
  join_coded();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  const std::vector<float> values{0.3F, -1, 0.7F, 0.01F};
  deliver(compute_node, GradientReady{0, 1, 0, Blob::copy_of(values)});
  const auto first = sent_of<Push>();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].values.size(), coded_bytes(FloatCode::int4, 4));
  deliver(left, Disconnected{left});
  const auto again = sent_of<Push>();
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_TRUE(std::ranges::equal(again[0].values.bytes(), first[0].values.bytes()));
  // Another worker codes the same positions, in a piece with another id.
  Piece piece = start(0, 1, {0, 8}).piece;
  piece.id = 99;
  const Job job = coded_job();
  const Blob other = as_pushed(job, slices(job.layout)[0], piece, Blob::copy_of(values));
  EXPECT_TRUE(std::ranges::equal(other.bytes(), first[0].values.bytes()));
}

TEST_F(CodedTest, DifferencesAreAddedToTheCurrentVersion) {
  join_coded();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  const auto whole = sent_of<Pull>();
  ASSERT_THAT(whole, SizeIs(2));
  EXPECT_FALSE(whole[0].difference) << "it has nothing to add to";
  deliver_difference(0, 0, 1);
  EXPECT_EQ(worker.ignored(), 1U);
  arrive_all(0);
  for (std::uint32_t slice = 0; slice < 3; ++slice) final(0, 1, slice);
  computed(0, 1, {0, 8});
  const auto pulls = sent_of<Pull>();
  ASSERT_THAT(pulls, SizeIs(2));
  EXPECT_TRUE(pulls[0].difference && pulls[1].difference);
  deliver(scheduler_node, start(1, 2, {8, 16}));
  Parameters spoilt{term, 1, 0, Blob::copy_of(std::vector<float>(3))};
  spoilt.difference = true;
  deliver(left, spoilt);
  EXPECT_EQ(worker.ignored(), 2U) << "no code of four floats";
  deliver_difference(1, 0, 7);
  arrive(1, 1, 5);  // this slice is sent whole
  deliver_difference(1, 2, 7);
  const auto orders = sent_of<Compute>();
  ASSERT_THAT(orders, SizeIs(1));
  const std::span<const float> all = orders[0].parameters.floats();
  EXPECT_THAT(std::vector(all.begin(), all.begin() + 4), Each(7));
  EXPECT_THAT(std::vector(all.begin() + 4, all.begin() + 8), Each(5));
  EXPECT_THAT(std::vector(all.begin() + 8, all.end()), Each(7));
}

TEST_F(CodedTest, SlicesArePulledWholeAfterAMissedVersion) {
  join_coded();
  deliver(scheduler_node, start(0, 1, {0, 8}));
  arrive_all(0);
  for (std::uint32_t slice = 0; slice < 3; ++slice) final(0, 1, slice);
  computed(0, 1, {0, 8});
  deliver(left, VersionExpired{1, 2});
  deliver(scheduler_node, start(4, 2, {8, 16}));
  for (const Pull& pull : sent_of<Pull>()) EXPECT_FALSE(pull.difference) << pull.version;
}

}  // namespace
}  // namespace steelyard::test::coded_test
