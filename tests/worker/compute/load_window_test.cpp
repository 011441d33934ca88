#include "worker/compute/load_window.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/worker/data/data_files.h"

namespace steelyard::load_window_test {
namespace {

class LoadWindowTest : public testing::Test {
 protected:
  LoadWindowTest() { folder_.write("meminfo", "MemAvailable: 1024 kB\n"); }

  // Time passes: other programs use this share of the one processor, the rest is idle.
  void pass(int ms, double others) {
    ms_ += ms;
    busy_ += others * ms / 10;
    idle_ += (1 - others) * ms / 10;
    const auto ticks = [](double count) { return std::to_string(static_cast<int>(count + 0.5)); };
    folder_.write("stat", "cpu " + ticks(busy_) + " 0 0 " + ticks(idle_) + " 0 0 0 0\n");
    folder_.write("self/stat", "1 (a) S 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  }
  [[nodiscard]] Time now() const { return Time{std::chrono::milliseconds(ms_)}; }

  TemporaryFolder folder_;
  int ms_ = 1000;
  double busy_ = 1000, idle_ = 1000;
};

TEST_F(LoadWindowTest, TheLatestReadingCoversTheLastTenthOfASecond) {
  pass(0, 0);
  LoadWindow window(Meter(folder_.path(), {}));
  EXPECT_EQ(window.latest().cpu, -1) << "a share needs two looks";
  window.begin(now());
  for (int i = 0; i < 10; ++i) pass(50, 0), window.look(now());
  EXPECT_DOUBLE_EQ(window.latest().cpu, 1);
  for (int i = 0; i < 3; ++i) pass(50, 0.6), window.look(now());
  EXPECT_DOUBLE_EQ(window.latest().cpu, 0.4) << "nothing before the others began";
  EXPECT_NEAR(window.over_all().cpu, (500 + 150 * 0.4) / 650, 0.02) << "since begin()";
  EXPECT_DOUBLE_EQ(window.latest().memory, 1);
}

TEST_F(LoadWindowTest, ALongPauseIsOneWindow) {
  pass(0, 0);
  LoadWindow window(Meter(folder_.path(), {}));
  window.begin(now());
  pass(1000, 0.5);
  window.look(now());
  EXPECT_DOUBLE_EQ(window.latest().cpu, 0.5);
}

TEST_F(LoadWindowTest, ShortComputationsGetTheLatestReading) {
  pass(0, 0);
  LoadWindow window(Meter(folder_.path(), {}));
  window.begin(now());
  for (int i = 0; i < 4; ++i) pass(50, 0.2), window.look(now());
  window.begin(now());
  pass(10, 0.9);
  window.look(now());
  EXPECT_EQ(window.over_all().cpu, window.latest().cpu);
  EXPECT_DOUBLE_EQ(window.latest().cpu, 0.8) << "counters are not read again within 50 ms";
}

}  // namespace
}  // namespace steelyard::load_window_test
