#include "protocol/transfer.h"

#include <gmock/gmock.h>

#include <deque>
#include <set>

namespace steelyard::transfer_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Time begun{std::chrono::seconds(1)};
Time after(double s) { return begun + from_seconds(s); }

TEST(Transfer, RequestsGrowWithArrivalsUpToTheWindow) {
  Transfer it(10, 3);
  EXPECT_THAT(it.ask(after(0)), ElementsAre(0));
  EXPECT_THAT(it.ask(after(0)), IsEmpty()) << "already in flight";
  EXPECT_TRUE(it.came(after(0), 0));
  EXPECT_THAT(it.ask(after(0)), ElementsAre(1, 2));
  EXPECT_TRUE(it.came(after(0), 1));
  EXPECT_THAT(it.ask(after(0)), ElementsAre(3, 4));
  EXPECT_TRUE(it.came(after(0), 2));
  EXPECT_THAT(it.ask(after(0)), ElementsAre(5)) << "the window of three is full";
  EXPECT_EQ(it.arrived(), 3U);
}

TEST(Transfer, EachPartCountsOnce) {
  Transfer it(2, 3);
  EXPECT_TRUE(it.came(after(0), 1)) << "an unrequested part is accepted";
  EXPECT_FALSE(it.came(after(0), 1));
  EXPECT_FALSE(it.came(after(0), 2)) << "no such part";
  EXPECT_FALSE(it.complete());
  EXPECT_THAT(it.ask(after(0)), ElementsAre(0));
  EXPECT_TRUE(it.came(after(0), 0));
  EXPECT_TRUE(it.complete());
  EXPECT_THAT(it.ask(after(100)), IsEmpty());
}

TEST(Transfer, AnEmptyTransferIsComplete) { EXPECT_TRUE(Transfer(0, 3).complete()); }

TEST(Transfer, RepeatsOneRequestAfterADoublingTimeout) {
  Transfer it(10, 4);
  double at = 0;
  for (std::size_t part = 0; part < 3; ++part) {
    it.ask(after(at));
    it.came(after(at += 0.1), part);
  }
  EXPECT_EQ(it.ask(after(at)).size(), 2U) << "four are in flight, and none arrives";
  EXPECT_THAT(it.ask(after(at + 1.9)), IsEmpty());
  EXPECT_THAT(it.ask(after(at += 2.1)), ElementsAre(3));
  EXPECT_THAT(it.ask(after(at + 3.9)), IsEmpty());
  EXPECT_THAT(it.ask(after(at += 4.1)), ElementsAre(3));
  EXPECT_THAT(it.ask(after(at + 7.9)), IsEmpty());
  EXPECT_THAT(it.ask(after(at + 8.1)), ElementsAre(3));
}

TEST(Transfer, ARestartRepeatsRequestsAtOnce) {
  Transfer it(4, 4);
  it.ask(after(0));
  it.came(after(0), 0);
  EXPECT_THAT(it.ask(after(0)), ElementsAre(1, 2));
  it.restart();
  EXPECT_THAT(it.ask(after(0)), ElementsAre(1)) << "the window starts at one again";
}

// A lossless connection that takes `seconds` per part.
struct SlowConnection {
  std::size_t sent = 0;    // parts
  std::size_t queued = 0;  // most parts queued at once
  double finished = 0;     // seconds
};
SlowConnection transfer_over(double seconds, std::size_t parts, std::size_t window) {
  Transfer it(parts, window);
  std::deque<std::size_t> queue;
  SlowConnection connection;
  double free_at = 0;
  for (double at = 0; !it.complete(); at += 0.5) {  // requests at each heartbeat and each arrival
    while (!queue.empty() && free_at <= at) {
      it.came(after(free_at), queue.front());
      queue.pop_front();
      for (const std::size_t part : it.ask(after(free_at))) queue.push_back(part), ++connection.sent;
      free_at += seconds;
      connection.finished = at;
    }
    if (queue.empty()) free_at = at + seconds;
    for (const std::size_t part : it.ask(after(at))) queue.push_back(part), ++connection.sent;
    connection.queued = std::max(connection.queued, queue.size());
  }
  return connection;
}

// 98 MB (ResNet-50) in slices of 1 MB, at 100, 10 and 1 Mbit/s, and slower still.
TEST(Transfer, ASlowConnectionCarriesAboutOneCopy) {
  for (const double seconds : {0.08, 0.8, 8.0, 80.0}) {
    const SlowConnection connection = transfer_over(seconds, 98, 8);
    EXPECT_LE(connection.sent, 98U + 8U) << seconds << " s per part";
    EXPECT_LE(connection.queued, 8U + 1U) << seconds << " s per part";
    EXPECT_LE(connection.finished, seconds * (98 + 8) + 10) << "the transfer must not stall";
  }
}

}  // namespace
}  // namespace steelyard::transfer_test
