#include "worker/compute/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/worker/made_data.h"

namespace steelyard::feed_test {
namespace {

// The parameter: threads.
class FeedTest : public testing::TestWithParam<unsigned> {
 protected:
  const std::shared_ptr<WatchedData> train_ =
      std::make_shared<WatchedData>(std::make_shared<NumberedData>(1000));
  Feed feed_{{train_, std::make_shared<NumberedData>(300)}, 7, cpu_sizes, 1, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, FeedTest, testing::Values(1, 3));

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

TEST_P(FeedTest, GivesEveryPositionOnceAndInOrder) {
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const Position begin = random.below(1000), end = begin + 1 + random.below(1000 - begin);
    const auto request = feed_.request(piece(Purpose::train, 2, {begin, end}));
    ASSERT_EQ(drained(feed_, request), all_of({begin, end}));
  }
}

TEST_P(FeedTest, MicroBatchesAreFullUpToTheTail) {
  const auto request = feed_.request(piece(Purpose::train, 0, {100, 100 + 32 + 32 + 5}));
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted{{32, 32}, {32, 32}, {5, 8}};
  for (const auto& [count, size] : wanted) {
    const nn::MicroBatch* batch = feed_.next(request);
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->count, count);
    EXPECT_EQ(batch->size, size);
  }
}

TEST_P(FeedTest, TrainsInThePermutationAndEvaluatesInOrder) {
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

TEST_P(FeedTest, ReadsAheadBeforeTheFirstCallOfNext) {
  const auto request = feed_.request(piece(Purpose::train, 0, {0, 1000}));
  train_->wait_for(32 * Feed::ahead);  // would otherwise hang
  EXPECT_EQ(train_->times_read(), 32 * Feed::ahead) << "memory for more is not there";
  EXPECT_EQ(drained(feed_, request), all_of({0, 1000}));
  EXPECT_EQ(train_->times_read(), 1000u);
}

TEST_P(FeedTest, ACancelledRequestEndsAndTheNextBegins) {
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

TEST_P(FeedTest, CancellingWorksWhileAThreadWaits) {
  for (int i = 0; i < 200; ++i) {
    const auto request = feed_.request(piece(Purpose::train, 0, {0, 1000}));
    std::thread other([&] { request->cancel(); });
    drained(feed_, request);
    other.join();
    const auto after = feed_.request(piece(Purpose::train, 0, {0, 3}));
    ASSERT_EQ(drained(feed_, after), all_of({0, 3}));
  }
}

TEST_P(FeedTest, SkipsCancelledRequests) {
  feed_.request(piece(Purpose::train, 0, {0, 5}));
  for (int i = 0; i < 20; ++i) feed_.request(piece(Purpose::train, 0, {5, 500}))->cancel();
  const auto wanted = feed_.request(piece(Purpose::train, 0, {500, 700}));
  EXPECT_EQ(drained(feed_, wanted), all_of({500, 700}));
}

TEST_P(FeedTest, ClosingEndsTheWait) {
  const auto request = feed_.request(piece(Purpose::train, 0, {0, 1000}));
  ASSERT_NE(feed_.next(request), nullptr);
  feed_.close();
  const std::vector<Position> rest = drained(feed_, request);  // prepared micro-batches may still come
  EXPECT_LE(rest.size(), 32 * Feed::ahead);
}

TEST(Feed, CanBeDestroyedWhileItWorks) {
  const DataSets data{std::make_shared<NumberedData>(1000), std::make_shared<NumberedData>(1)};
  for (unsigned i = 0; i < 50; ++i) {
    Feed feed(data, 1, cpu_sizes, 1, 1 + i % 4);
    const auto request = feed.request(piece(Purpose::train, 0, {0, 1000}));
    if (i % 2 == 0) {
      EXPECT_NE(feed.next(request), nullptr);
    }
  }
}

// A device's micro-batches, which several threads share.
const std::vector<std::uint32_t> device_sizes{256, 128, 64, 32, 16, 8, 4, 2, 1};

// All that next() returns for some requests, in order.
std::vector<float> all_read(unsigned threads, const DataSets& data, std::uint64_t passes) {
  Feed feed(data, 7, device_sizes, 2, threads);
  std::vector<float> all;
  for (const Interval positions :
       {Interval{0, 1000}, Interval{3, 258}, Interval{500, 501}, Interval{90, 990}}) {
    Piece wanted = piece(Purpose::train, 3, positions);
    wanted.local = {4, passes, 64};
    wanted.whole = positions;
    const auto request = feed.request(wanted);
    for (std::uint64_t left = passes * positions.size(); left > 0;) {
      const nn::MicroBatch* batch = feed.next(request);
      if (batch == nullptr) {
        ADD_FAILURE() << "a micro-batch is missing";
        return all;
      }
      left -= batch->count;
      all.insert(all.end(), {static_cast<float>(batch->size), static_cast<float>(batch->count),
                             static_cast<float>(batch->epoch), static_cast<float>(batch->positions[0])});
      all.insert(all.end(), batch->inputs, batch->inputs + std::size_t{2} * batch->size);
      all.insert(all.end(), batch->labels, batch->labels + batch->size);
    }
  }
  return all;
}

TEST(Feed, OrderAndBitsDoNotDependOnThreads) {
  const auto set = std::make_shared<NumberedData>(1000);
  const DataSets data{
      .train = set, .test = set, .name = "numbers", .augmentation = {.crop = 0, .flip = true}};
  const std::vector<float> one = all_read(1, data, 2);
  EXPECT_GT(one.size(), 8000U);
  for (const unsigned threads : {2U, 4U, 7U}) EXPECT_TRUE(all_read(threads, data, 2) == one) << threads;
}

// Each reads a part.
TEST(Feed, SeveralThreadsReadOneMicroBatch) {
  const auto train = std::make_shared<WatchedData>(std::make_shared<NumberedData>(1000));
  train->hold(0);
  Feed feed({train, train}, 7, device_sizes, 1, 3);
  const auto request = feed.request(piece(Purpose::train, 0, {0, 256}));
  train->wait_for_begun(3);  // would otherwise hang
  train->release();
  EXPECT_EQ(drained(feed, request), all_of({0, 256}));
}

TEST(Feed, ACancelledMicroBatchIsNotReadToItsEnd) {
  const auto train = std::make_shared<WatchedData>(std::make_shared<NumberedData>(1000));
  train->hold(0);
  Feed feed({train, train}, 7, device_sizes, 1, 2);
  const auto first = feed.request(piece(Purpose::train, 0, {0, 1000}));
  const auto second = feed.request(piece(Purpose::train, 1, {0, 300}));
  train->wait_for_begun(2);
  first->cancel();
  train->release();
  EXPECT_EQ(drained(feed, second), all_of({0, 300}));
  EXPECT_EQ(train->times_read(), 2 * Feed::part_size + 300U) << "the parts that had begun, and the second";
}

TEST(Feed, SeveralThreadsOnlyBesideADevice) {
  EXPECT_EQ(Feed::threads_for(WorkPlace::this_thread, 64), 1U);
  EXPECT_EQ(Feed::threads_for(WorkPlace::other_threads, 64), 1U);
  EXPECT_EQ(Feed::threads_for(WorkPlace::other_device, 1), 1U);
  EXPECT_EQ(Feed::threads_for(WorkPlace::other_device, 3), 3U);
  EXPECT_EQ(Feed::threads_for(WorkPlace::other_device, 64), Feed::most_threads);
}

// The failure of reading a data set with one spoilt sample.
std::string failure_of(Purpose purpose, bool throws, unsigned threads = 1) {
  const auto spoilt = std::make_shared<SpoiltData>(40, 33, throws),
             good = std::make_shared<SpoiltData>(40, 99, false);
  Feed feed({purpose == Purpose::train ? spoilt : good, purpose == Purpose::train ? good : spoilt, "ours"}, 7,
            cpu_sizes, 1, threads);
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
  for (const unsigned threads : {1U, 3U}) {
    EXPECT_EQ(failure_of(Purpose::evaluate, true, threads),
              "data set 'ours', test sample 33: it threw an exception: the file is gone");
  }
}

// Samples from 100 on cannot be read.
class CutData final : public NumberedData {
 public:
  using NumberedData::NumberedData;
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    if (index >= 100) throw std::runtime_error("the file is cut");
    NumberedData::read(index, into, labels);
  }
};

TEST(FeedFailure, OfSeveralTheFirstIsThrown) {
  const auto data = std::make_shared<CutData>(1000);
  for (int i = 0; i < 50; ++i) {
    Feed feed({data, data, "ours"}, 7, device_sizes, 1, 4);
    try {
      drained(feed, feed.request(piece(Purpose::evaluate, 0, {0, 1000})));
      FAIL() << "no failure";
    } catch (const Failure& failure) {
      EXPECT_EQ(std::string(failure.what()),
                "data set 'ours', test sample 100: it threw an exception: the file is cut");
    }
  }
}

TEST(FeedFailure, MicroBatchesBeforeItAreReturned) {
  const auto data = std::make_shared<CutData>(1000);
  for (const unsigned threads : {1U, 3U}) {
    Feed feed({data, data, "ours"}, 7, cpu_sizes, 1, threads);
    const auto request = feed.request(piece(Purpose::evaluate, 0, {0, 1000}));
    for (int i = 0; i < 3; ++i) EXPECT_NE(feed.next(request), nullptr);
    EXPECT_THROW(feed.next(request), Failure);
    EXPECT_THROW(feed.next(request), Failure);
  }
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
