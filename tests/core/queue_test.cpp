// The queue between threads: no item is lost or duplicated, each writer's order is kept, no thread hangs.
#include "core/queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace steelyard::queue_test {
namespace {

TEST(BoundedQueue, IsFirstInFirstOut) {
  BoundedQueue<int> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.try_push(i));
  EXPECT_FALSE(queue.try_push(3)) << "the queue is full";
  EXPECT_EQ(queue.size(), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.pop(), i);
  EXPECT_FALSE(queue.pop(Time{})) << "the deadline has passed and the queue is empty";
}

TEST(BoundedQueue, APastDeadlineStillReturnsQueuedItems) {
  BoundedQueue<int> queue(3);
  queue.push(5);
  EXPECT_EQ(queue.pop(Time{}), 5);
}

TEST(BoundedQueue, PopReturnsAtItsDeadline) {
  BoundedQueue<int> queue(1);
  const Time deadline = steady_now() + milliseconds(20);
  EXPECT_FALSE(queue.pop(deadline));
  EXPECT_GE(steady_now(), deadline) << "not before the deadline";
}

TEST(BoundedQueue, CloseKeepsQueuedItemsAndRefusesMore) {
  BoundedQueue<int> queue(3);
  queue.push(1);
  queue.close();
  EXPECT_FALSE(queue.push(2));
  EXPECT_FALSE(queue.try_push(2));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_FALSE(queue.pop());
}

TEST(BoundedQueue, CloseWakesWaitingThreads) {
  BoundedQueue<int> empty(1), full(1);
  full.push(0);
  std::atomic<int> released = 0;
  std::thread reader([&] { released += empty.pop().has_value() ? 0 : 1; });
  std::thread writer([&] { released += full.push(1) ? 0 : 1; });
  empty.close();
  full.close();
  reader.join();
  writer.join();
  EXPECT_EQ(released, 2);
}

TEST(BoundedQueue, SupportsMoveOnlyTypes) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  queue.push(std::make_unique<int>(7));
  EXPECT_EQ(**queue.pop(), 7);
}

TEST(BoundedQueue, SupportsManyWritersAndReaders) {
  struct Item {
    int writer = 0, number = 0;
  };
  constexpr int writers = 4, readers = 3, each = 2000;
  BoundedQueue<Item> queue(16);
  std::vector<std::vector<Item>> got(readers);
  std::vector<std::thread> writing, reading;
  for (int r = 0; r < readers; ++r) {
    reading.emplace_back([&, r] {
      while (const auto item = queue.pop()) got[r].push_back(*item);
    });
  }
  for (int w = 0; w < writers; ++w) {
    writing.emplace_back([&, w] {
      for (int i = 0; i < each; ++i) queue.push({w, i});
    });
  }
  for (std::thread& thread : writing) thread.join();
  queue.close();
  for (std::thread& thread : reading) thread.join();

  std::vector<std::vector<int>> times(writers, std::vector<int>(each));
  for (const auto& items : got) {
    std::vector<int> last(writers, -1);
    for (const Item& item : items) {
      EXPECT_GT(item.number, last[item.writer]) << "a reader got a writer's items out of order";
      last[item.writer] = item.number;
      ++times[item.writer][item.number];
    }
  }
  for (const auto& of_writer : times) EXPECT_EQ(of_writer, std::vector<int>(each, 1));
}

}  // namespace
}  // namespace steelyard::queue_test
