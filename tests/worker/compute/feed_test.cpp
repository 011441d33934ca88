#include "worker/compute/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/worker/made_data.h"

namespace steelyard::feed_test {
namespace {

class FeedTest : public testing::Test {
 protected:
  const std::shared_ptr<WatchedData> train_ =
      std::make_shared<WatchedData>(std::make_shared<NumberedData>(1000));
  Feed feed_{{train_, std::make_shared<NumberedData>(300)}, 7, cpu_sizes};
};

// The positions of all micro-batches of a request.
std::vector<Position> drained(Feed& feed, const std::shared_ptr<FeedRequest>& request) {
  std::vector<Position> positions;
  while (positions.size() < request->piece.positions.size()) {
    const nn::MicroBatch* batch = feed.next(request);
    if (!batch) break;
    positions.insert(positions.end(), batch->positions, batch->positions + batch->count);
  }
  return positions;
}

Piece piece(Purpose purpose, std::uint64_t epoch, Interval positions) {
  return {.purpose = purpose, .epoch = epoch, .positions = positions};
}

std::vector<Position> all_of(Interval interval) {
  std::vector<Position> positions;
  for (Position p = interval.begin; p < interval.end; ++p) positions.push_back(p);
  return positions;
}

TEST_F(FeedTest, GivesEveryPositionOnceAndInOrder) {
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const Position begin = random.below(1000), end = begin + 1 + random.below(1000 - begin);
    const auto request = feed_.request(piece(Purpose::train, 2, {begin, end}));
    ASSERT_EQ(drained(feed_, request), all_of({begin, end}));
  }
}

TEST_F(FeedTest, MicroBatchesAreFullUpToTheTail) {
  const auto request = feed_.request(piece(Purpose::train, 0, {100, 100 + 32 + 32 + 5}));
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted{{32, 32}, {32, 32}, {5, 8}};
  for (const auto& [count, size] : wanted) {
    const nn::MicroBatch* batch = feed_.next(request);
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->count, count);
    EXPECT_EQ(batch->size, size);
  }
}

TEST_F(FeedTest, TrainsInThePermutationAndEvaluatesInOrder) {
  const auto train = feed_.request(piece(Purpose::train, 4, {10, 42}));
  const auto test = feed_.request(piece(Purpose::evaluate, 4, {10, 42}));
  const Permutation permutation(1000, hash(7, 4));
  const nn::MicroBatch* batch = feed_.next(train);
  ASSERT_NE(batch, nullptr);
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(batch->inputs[std::size_t{2} * i], static_cast<float>(permutation(10 + i)));
  }
  batch = feed_.next(test);
  ASSERT_NE(batch, nullptr);
  for (std::uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(batch->inputs[std::size_t{2} * i], static_cast<float>(10 + i));
}

TEST_F(FeedTest, ReadsAheadBeforeTheFirstCallOfNext) {
  const auto request = feed_.request(piece(Purpose::train, 0, {0, 1000}));
  train_->wait_for(32 * Feed::ahead);  // would otherwise hang
  EXPECT_EQ(train_->times_read(), 32 * Feed::ahead);
  EXPECT_EQ(drained(feed_, request), all_of({0, 1000}));
  EXPECT_EQ(train_->times_read(), 1000u);
}

TEST_F(FeedTest, ACancelledRequestEndsAndTheNextBegins) {
  const auto first = feed_.request(piece(Purpose::train, 0, {0, 1000}));
  const auto second = feed_.request(piece(Purpose::evaluate, 0, {0, 300}));
  ASSERT_NE(feed_.next(first), nullptr);
  first->cancel();
  EXPECT_EQ(feed_.next(first), nullptr);
  EXPECT_EQ(feed_.next(first), nullptr);
  EXPECT_EQ(drained(feed_, second), all_of({0, 300}));
  // At most the micro-batches ahead, and those being read when the feed noticed the cancellation.
  EXPECT_LE(train_->times_read(), 32 * (Feed::ahead + 2));
}

TEST_F(FeedTest, CancellingWorksWhileAThreadWaits) {
  for (int i = 0; i < 200; ++i) {
    const auto request = feed_.request(piece(Purpose::train, 0, {0, 1000}));
    std::thread other([&] { request->cancel(); });
    drained(feed_, request);
    other.join();
    const auto after = feed_.request(piece(Purpose::train, 0, {0, 3}));
    ASSERT_EQ(drained(feed_, after), all_of({0, 3}));
  }
}

TEST_F(FeedTest, SkipsCancelledRequests) {
  feed_.request(piece(Purpose::train, 0, {0, 5}));
  for (int i = 0; i < 20; ++i) feed_.request(piece(Purpose::train, 0, {5, 500}))->cancel();
  const auto wanted = feed_.request(piece(Purpose::train, 0, {500, 700}));
  EXPECT_EQ(drained(feed_, wanted), all_of({500, 700}));
}

TEST_F(FeedTest, ClosingEndsTheWait) {
  const auto request = feed_.request(piece(Purpose::train, 0, {0, 1000}));
  ASSERT_NE(feed_.next(request), nullptr);
  feed_.close();
  const std::vector<Position> rest = drained(feed_, request);  // prepared micro-batches may still come
  EXPECT_LE(rest.size(), 32 * Feed::ahead);
}

TEST(Feed, CanBeDestroyedWhileItWorks) {
  const DataSets data{std::make_shared<NumberedData>(1000), std::make_shared<NumberedData>(1)};
  for (int i = 0; i < 50; ++i) {
    Feed feed(data, 1, cpu_sizes);
    const auto request = feed.request(piece(Purpose::train, 0, {0, 1000}));
    if (i % 2 == 0) {
      EXPECT_NE(feed.next(request), nullptr);
    }
  }
}

// The failure of reading a data set with one spoilt sample.
std::string failure_of(Purpose purpose, bool throws) {
  const auto spoilt = std::make_shared<SpoiltData>(40, 33, throws),
             good = std::make_shared<SpoiltData>(40, 99, false);
  Feed feed({purpose == Purpose::train ? spoilt : good, purpose == Purpose::train ? good : spoilt, "ours"}, 7,
            cpu_sizes);
  try {
    drained(feed, feed.request(piece(purpose, 4, {0, 40})));
    return "no failure";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), throws ? ExitCode::failed : ExitCode::configuration);
    return failure.what();
  }
}

TEST(FeedFailure, ALabelOutOfRangeFailsWithItsPlace) {
  EXPECT_EQ(failure_of(Purpose::evaluate, false),
            "data set 'ours', test sample 33: its label is 7, and with 3 classes labels go from 0 to 2: "
            "correct the "
            "label, or classes()");
  Position position = 0;
  const Permutation order(40, hash(7, 4));
  while (order(position) != 33) ++position;
  EXPECT_THAT(failure_of(Purpose::train, false),
              testing::StartsWith("data set 'ours', training sample 33 (position " +
                                  std::to_string(position) + " of epoch 5): its label is 7"));
}

TEST(FeedFailure, AnExceptionWhileReadingHasItsPlace) {
  EXPECT_EQ(failure_of(Purpose::evaluate, true),
            "data set 'ours', test sample 33: it threw an exception: the file is gone");
}

TEST(FeedFailure, TheFailureIsThrownByLaterRequestsToo) {
  const auto data = std::make_shared<SpoiltData>(40, 1, true);
  Feed feed({data, data, "ours"}, 7, cpu_sizes);
  EXPECT_THROW(drained(feed, feed.request(piece(Purpose::evaluate, 0, {0, 2}))), Failure);
  EXPECT_THROW(drained(feed, feed.request(piece(Purpose::evaluate, 0, {2, 4}))), Failure);
}

// Notes which samples it shall prepare.
class PreparedData final : public NumberedData {
 public:
  using NumberedData::NumberedData;
  void prepare(std::span<const std::uint64_t> indices) const override {
    prepared.assign(indices.begin(), indices.end());
  }
  mutable std::vector<std::uint64_t> prepared;
};

TEST(BatchBuffer, ADataSetPreparesTheNextSamplesInTheirOrder) {
  const auto data = std::make_shared<PreparedData>(1000);
  const SampleOrder order({data, data}, Purpose::train, 3, 1);
  BatchBuffer buffer(data->shape(), 1, cpu_sizes);
  buffer.fill(order, {10, 500});
  ASSERT_EQ(data->prepared.size(), SampleOrder::prepared) << "also those of the next micro-batch";
  for (std::size_t i = 0; i < data->prepared.size(); ++i) EXPECT_EQ(data->prepared[i], order.sample(10 + i));
  buffer.fill(order, {996, 1000});
  EXPECT_EQ(data->prepared.size(), 4U);
}

}  // namespace
}  // namespace steelyard::feed_test
