#include "sim/event_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"

namespace steelyard::sim::event_queue_test {
namespace {

Time at(long ms) { return Time{milliseconds(ms)}; }

TEST(EventQueue, EventsPopByTimeThenByPushOrder) {
  EventQueue<int> queue;
  queue.push(at(5), 1);
  queue.push(at(3), 2);
  queue.push(at(5), 3);
  queue.push(at(3), 4);
  std::vector<int> order;
  while (!queue.empty()) order.push_back(queue.pop());
  EXPECT_THAT(order, testing::ElementsAre(2, 4, 1, 3));
}

TEST(EventQueue, ANewEventFollowsEarlierEventsOfTheSameTime) {
  EventQueue<int> queue;
  queue.push(at(3), 1);
  queue.push(at(3), 2);
  queue.push(at(4), 3);
  EXPECT_EQ(queue.pop(), 1);
  queue.push(at(3), 4);
  queue.push(at(3), 5);
  EXPECT_EQ(queue.size(), 4U);
  EXPECT_EQ(queue.next(), at(3));
  std::vector<int> order;
  while (!queue.empty()) order.push_back(queue.pop());
  EXPECT_THAT(order, testing::ElementsAre(2, 4, 5, 3));
}

TEST(EventQueue, TimeCanAdvanceWithoutEvents) {
  EventQueue<int> queue;
  queue.advance(at(7));
  queue.push(at(7), 1);
  queue.push(at(9), 2);
  EXPECT_EQ(queue.next(), at(7));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.next(), at(9));
  EXPECT_DEATH(queue.push(at(6), 3), "past");
}

// Random pushes and pops, compared with a stable sort by time.
TEST(EventQueue, MatchesAStableSortByTime) {
  Random random(7);
  for (int run = 0; run < 50; ++run) {
    EventQueue<std::pair<long, int>> queue;
    long now = 0;
    std::vector<std::pair<long, int>> popped;
    for (int i = 0; i < 200; ++i) {
      const long when = now + static_cast<long>(random.below(4));
      queue.push(at(when), {when, i});
      if (random.uniform() < 0.4) {
        popped.push_back(queue.pop());
        now = popped.back().first;
      }
    }
    while (!queue.empty()) popped.push_back(queue.pop());
    EXPECT_EQ(popped.size(), 200U);
    EXPECT_TRUE(std::is_sorted(popped.begin(), popped.end(),
                               [](const auto& a, const auto& b) {
                                 return std::pair(a.first, a.second) < std::pair(b.first, b.second);
                               }))
        << "run " << run;
  }
}

}  // namespace
}  // namespace steelyard::sim::event_queue_test
