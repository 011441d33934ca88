#include "worker/compute/polite.h"

#include <gtest/gtest.h>

#include <atomic>

#include "core/time.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::left_watch_test {
namespace {

TEST(LeftShare, IsRelativeToTheWorkersThreads) {
  EXPECT_DOUBLE_EQ(left_share(0.25, 4, 2), 0.5);
  EXPECT_DOUBLE_EQ(left_share(0.75, 4, 1), 1);
  EXPECT_DOUBLE_EQ(left_share(0, 4, 1), 0);
  EXPECT_LT(left_share(-1, 4, 1), 0) << "not known";
}

TEST(LeftWatch, ReportsTheShareLeftByOthers) {
  const TemporaryFolder folder;
  const auto now = [&](int others) {
    folder.write("stat", "cpu " + std::to_string(others) + " 0 0 0 0 0 0 0\ncpu0 " + std::to_string(others) +
                             " 0 0 0 0 0 0 0\n");
    folder.write("self/stat", "1 (w) S 1 1 1 0 -1 4194304 10 0 0 0 0 0 0 0\n");
  };
  now(0);
  std::atomic<double> reported{2};
  const LeftWatch watch(
      1, [&](double share) { reported = share; }, Meter(folder.path()));
  now(100);
  for (const Time until = steady_now() + from_seconds(20); reported != 0 && steady_now() < until;)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(reported, 0) << "others used all of it";
}

}  // namespace
}  // namespace steelyard::left_watch_test
