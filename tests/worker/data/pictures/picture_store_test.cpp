#include "worker/data/pictures/picture_store.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>

#include "core/random.h"

namespace steelyard::picture_store_test {
namespace {

constexpr std::uint64_t bytes_each = 10;

std::uint8_t byte_of(std::uint64_t index, std::uint64_t at) {
  return static_cast<std::uint8_t>(hash(index, at));
}
void decode(std::uint64_t index, std::uint8_t* into) {
  for (std::uint64_t i = 0; i < bytes_each; ++i) into[i] = byte_of(index, i);
}
bool reads_right(PictureStore& store, std::uint64_t index) {
  bool right = false;
  store.read(index, [&](const std::uint8_t* pixels) {
    right = true;
    for (std::uint64_t i = 0; i < bytes_each; ++i) right = right && pixels[i] == byte_of(index, i);
  });
  return right;
}

// Reads in many orders, with and without hints, from several threads, and some hints that nothing follows.
TEST(PictureStore, BytesAreTheSameAndTheLimitHoldsForAnyNumberOfThreads) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    for (const std::uint64_t limit : {0U, 9U, 10U, 75U, 400U, 5000U}) {
      SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(limit) + " bytes");
      PictureStore store(decode, {bytes_each, limit, threads});
      std::atomic<bool> right = true, bounded = true;
      const auto reader = [&](std::uint64_t seed) {
        Random random(seed);
        for (int i = 0; i < 300; ++i) {
          std::vector<std::uint64_t> next(random.below(40));
          for (std::uint64_t& it : next) it = random.below(200);
          if (random.below(4) > 0) store.prepare(next);
          if (random.below(8) > 0) {
            for (const std::uint64_t it : next) right = right && reads_right(store, it);
          }
          bounded = bounded && store.bytes() <= limit;
        }
      };
      std::vector<std::thread> readers;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) readers.emplace_back(reader, seed);
      for (std::thread& it : readers) it.join();
      EXPECT_TRUE(right);
      EXPECT_TRUE(bounded);
    }
  }
}

// Each decoding waits for one more on another thread, so that a thread which waits for a picture of the other
// would be missing.
TEST(PictureStore, AllThreadsDecodeAtTheSameTime) {
  std::mutex mutex;
  std::condition_variable entered;
  std::uint64_t count = 0;
  bool in_pairs = true;
  const auto in_pair = [&](std::uint64_t index, std::uint8_t* into) {
    decode(index, into);
    std::unique_lock lock(mutex);
    ++count;
    const std::uint64_t wanted = count + count % 2;
    entered.notify_all();
    in_pairs = entered.wait_for(lock, std::chrono::seconds(10), [&] { return count >= wanted; }) && in_pairs;
  };
  PictureStore store(in_pair, {bytes_each, 1000, 2});
  std::vector<std::uint64_t> all(20);
  std::iota(all.begin(), all.end(), 0U);
  store.prepare(all);
  for (const std::uint64_t it : all) EXPECT_TRUE(reads_right(store, it));
  EXPECT_TRUE(in_pairs);
}

TEST(PictureStore, WhatFitsIsDecodedOnce) {
  for (const unsigned threads : {1U, 3U}) {
    PictureStore store(decode, {bytes_each, 10 * bytes_each * 4, threads});
    std::vector<std::uint64_t> all(10);
    std::iota(all.begin(), all.end(), 0U);
    for (int epoch = 0; epoch < 3; ++epoch) {
      store.prepare(all);
      for (const std::uint64_t it : all) EXPECT_TRUE(reads_right(store, it));
    }
    EXPECT_EQ(store.times_decoded(), 10U);
    EXPECT_EQ(store.bytes(), 10 * bytes_each);
  }
}

TEST(PictureStore, AShareStaysIfNotAllFit) {
  PictureStore store(decode, {bytes_each, 5 * bytes_each, 1});
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(reads_right(store, i));
  }
  EXPECT_EQ(store.times_decoded(), 10U + 5 + 5);
}

TEST(PictureStore, HintsThatNothingFollowsGiveWay) {
  PictureStore store(decode, {bytes_each, 4 * bytes_each, 2});
  store.prepare(std::vector<std::uint64_t>{100, 101});
  for (std::uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(reads_right(store, i));
  store.prepare(std::vector<std::uint64_t>{200, 201});
  const std::uint64_t before = store.times_decoded();
  EXPECT_TRUE(reads_right(store, 200));
  EXPECT_TRUE(reads_right(store, 201));
  EXPECT_LE(store.times_decoded(), before + 2);
  EXPECT_LE(store.bytes(), 4 * bytes_each);
}

TEST(PictureStore, AFailureReachesTheReaderAndOnlyIt) {
  for (const unsigned threads : {1U, 3U}) {
    PictureStore store(
        [](std::uint64_t index, std::uint8_t* into) {
          if (index == 3) throw std::runtime_error("damaged");
          decode(index, into);
        },
        {bytes_each, 1000, threads});
    for (int i = 0; i < 2; ++i) {
      store.prepare(std::vector<std::uint64_t>{2, 3, 4});
      EXPECT_TRUE(reads_right(store, 2));
      EXPECT_THROW(reads_right(store, 3), std::runtime_error);
      EXPECT_TRUE(reads_right(store, 4));
    }
  }
}

}  // namespace
}  // namespace steelyard::picture_store_test
