// The feed of samples that a device keeps, compared with the one that reads them.
#include "worker/compute/kept_feed.h"

#include <gmock/gmock.h>

#include <vector>

#include "core/random.h"
#include "tests/worker/kept_pictures.h"
#include "worker/compute/feed.h"

namespace steelyard::kept_feed_test {
namespace {

const std::vector<std::uint32_t> sizes{16, 8, 4, 2, 1};

struct KeptFeedTest : testing::Test {
  DataSets sets = byte_pictures(200, 50);
  KeptData kept{sets, all_labels(), {}};
  KeptFeed feed{kept, sets, 7, sizes, 2};
  Feed reading{sets, 7, sizes, 2};

  [[nodiscard]] std::vector<std::uint32_t> all_labels() const {
    std::vector<std::uint32_t> all;
    std::vector<float> ignored(108);
    for (const DataSet* set : {sets.train.get(), sets.test.get()}) {
      for (std::uint64_t i = 0; i < set->size(); ++i) set->read(i, ignored.data(), &all.emplace_back());
    }
    return all;
  }

  // Both feeds give the same micro-batches, of which one names what the other contains.
  void expect_same(const Piece& piece) {
    const auto here = feed.request(piece), there = reading.request(piece);
    std::uint64_t left = piece.positions.size() * piece.local.passes;
    while (left > 0) {
      const nn::MicroBatch *ours = feed.next(here), *its = reading.next(there);
      ASSERT_NE(ours, nullptr);
      ASSERT_NE(its, nullptr);
      ASSERT_EQ(ours->size, its->size);
      ASSERT_EQ(ours->count, its->count);
      EXPECT_EQ(ours->seed, its->seed);
      EXPECT_EQ(ours->epoch, its->epoch);
      EXPECT_EQ(ours->inputs, nullptr);
      EXPECT_EQ(ours->targets, nullptr);
      for (std::uint32_t i = 0; i < its->size; ++i) {
        EXPECT_EQ(ours->labels[i], its->labels[i]);
        EXPECT_EQ(ours->positions[i], its->positions[i]);
        if (i >= its->count) continue;
        std::vector<float> input(108);
        kept.read(ours->kept[i], input.data());
        ASSERT_EQ(input, std::vector<float>(its->inputs + i * 108, its->inputs + (i + 1) * 108));
      }
      left -= its->count;
    }
    EXPECT_EQ(feed.next(here), nullptr) << "the piece ends there";
  }
};

TEST_F(KeptFeedTest, NamesTheSamplesThatAFeedReads) {
  Random random(1);
  for (std::uint64_t i = 0; i < 30; ++i) {
    const Position begin = random.below(200), end = begin + 1 + random.below(200 - begin);
    expect_same({.epoch = i, .positions = {begin, end}});
  }
  expect_same({.purpose = Purpose::evaluate, .positions = {3, 50}});
}

TEST_F(KeptFeedTest, LocalStepsAreMicroBatchesOfTheirOwn) {
  expect_same({.epoch = 1, .positions = {0, 90}, .local = {4, 3}});
  expect_same({.epoch = 1, .positions = {20, 90}, .local = {4, 2, 12}});
  expect_same({.positions = {0, 2}, .local = {3, 1}});
}

TEST_F(KeptFeedTest, ReadsNothing) {
  const auto& train = dynamic_cast<const BytePictures&>(*sets.train);
  const std::uint64_t before = train.reads;
  const auto request = feed.request({.positions = {0, 200}});
  while (feed.next(request) != nullptr) {
  }
  EXPECT_EQ(train.reads, before);
}

TEST_F(KeptFeedTest, ALaterRequestDropsTheRest) {
  const auto first = feed.request({.positions = {0, 100}}), second = feed.request({.positions = {100, 150}});
  EXPECT_EQ(feed.next(first)->positions[0], 0U);
  EXPECT_EQ(feed.next(second)->positions[0], 100U);
  EXPECT_EQ(feed.next(second)->positions[0], 116U);
}

TEST_F(KeptFeedTest, EndsWhereItIsAskedTo) {
  const auto request = feed.request({.positions = {0, 100}});
  EXPECT_NE(feed.next(request), nullptr);
  request->end_at(32);
  EXPECT_EQ(feed.next(request)->positions[0], 16U);
  EXPECT_EQ(feed.next(request), nullptr);
}

TEST_F(KeptFeedTest, CancelledRequestsAndClosedFeedsGiveNothing) {
  const auto cancelled = feed.request({.positions = {0, 100}});
  EXPECT_NE(feed.next(cancelled), nullptr);
  cancelled->cancel();
  EXPECT_EQ(feed.next(cancelled), nullptr);
  const auto request = feed.request({.positions = {0, 100}});
  EXPECT_NE(feed.next(request), nullptr);
  feed.close();
  EXPECT_EQ(feed.next(request), nullptr);
}

TEST(KeptFeedRequests, PositionsMustLieInTheSet) {
  const DataSets sets = byte_pictures(200, 50);
  const KeptData kept(sets, std::vector<std::uint32_t>(250), {});
  KeptFeed feed(kept, sets, 7, sizes, 2);
  EXPECT_DEATH((void)feed.request({.positions = {0, 201}}), "outside");
  EXPECT_DEATH((void)feed.request({.purpose = Purpose::evaluate, .positions = {0, 51}}), "outside");
}

}  // namespace
}  // namespace steelyard::kept_feed_test
