#include "worker/compute/meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/data/data_files.h"

namespace steelyard::meter_test {
namespace {

using testing::AllOf;
using testing::DoubleEq;
using testing::Ge;
using testing::Le;
using testing::Optional;

std::string stat_of(std::uint64_t user, std::uint64_t idle, std::uint64_t waiting, std::uint64_t stolen) {
  return "cpu  " + std::to_string(user) + " 1 2 " + std::to_string(idle) + " " + std::to_string(waiting) +
         " 3 4 " + std::to_string(stolen) + " 100 100\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n";
}

std::string self_of(std::uint64_t user, std::uint64_t system) {
  return "42 (a (strange) name) S 1 42 42 0 -1 4194304 10 0 0 0 " + std::to_string(user) + " " +
         std::to_string(system) + " 77 88 20 0 3 0 999\n";
}

TEST(ParseMachineTicks, AddsTheFirstEightColumns) {
  EXPECT_EQ(parse_machine_ticks(stat_of(1000, 500, 50, 20)),
            (MachineTicks{1000 + 1 + 2 + 500 + 50 + 3 + 4 + 20, 550, 1}));
  EXPECT_EQ(parse_machine_ticks("cpu 1 2 3 4 5 6 7 8"), (MachineTicks{36, 9, 2}));
}

TEST(ParseMachineTicks, ReturnsNothingForOtherText) {
  for (const char* text : {"", "cpu", "cpu 1 2 3 4 5 6 7\n8", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 x 4 5 6 7 8",
                           "cpu 1 2 3 4 5 6 7 -8", "intr 1\ncpu 1 2 3 4 5 6 7 8"}) {
    EXPECT_EQ(parse_machine_ticks(text), std::nullopt) << text;
  }
}

TEST(ParseMachineTicks, AddsOnlyTheGivenProcessors) {
  const std::string stat =
      "cpu  66 6 6 6 6 6 6 6\ncpu0 10 1 1 1 1 1 1 1\ncpu1 20 2 2 2 2 2 2 2\ncpu12 36 3 3 3 3 3 3 3\nintr 5\n";
  EXPECT_EQ(parse_machine_ticks(stat, {1}), (MachineTicks{34, 4, 2}));
  EXPECT_EQ(parse_machine_ticks(stat, {0, 12}), (MachineTicks{17 + 57, 8, 4}));
  EXPECT_EQ(parse_machine_ticks(stat, {1, 40}), (MachineTicks{34, 4, 2})) << "processor 40 does not exist";
  EXPECT_EQ(parse_machine_ticks(stat, {40}), std::nullopt);
  EXPECT_EQ(parse_machine_ticks("cpu 1 2\ncpu1 1 2 x\n", {1}), std::nullopt);
}

TEST(ParseProcessTicks, ReadsTheFieldsAfterTheLastBracket) {
  EXPECT_THAT(parse_process_ticks(self_of(120, 30)), Optional(ProcessTicks{150, 30}));
  for (const char* text : {"", "42 name S 1", "42 (name) S 1 2 3", "42 (n) S 1 2 3 4 5 6 7 8 9 10 x 12"}) {
    EXPECT_EQ(parse_process_ticks(text), std::nullopt) << text;
  }
}

TEST(ParseAvailableMemory, IsInMegabytes) {
  EXPECT_THAT(parse_available_memory("MemTotal: 1 kB\nMemAvailable:    2048 kB\nBuffers: 3 kB\n"),
              Optional(DoubleEq(2)));
  for (const char* text :
       {"", "MemTotal: 1 kB", "MemAvailable:", "MemAvailable: much kB", "MemAvailable: 7"}) {
    EXPECT_EQ(parse_available_memory(text), std::nullopt) << text;
  }
}

class MeterTest : public testing::Test {
 protected:
  void now(const std::string& stat, const std::string& self) const {
    folder_.write("stat", stat);
    folder_.write("self/stat", self);
  }
  TemporaryFolder folder_;
};

TEST_F(MeterTest, CountsIdleAndOwnTicksSinceTheLastCall) {
  now(stat_of(1000, 500, 0, 0), self_of(100, 0));
  folder_.write("meminfo", "MemAvailable: 1024 kB\n");
  Meter meter(folder_.path());
  // 100 ticks: 30 idle, 10 waiting, 60 busy, 35 of them ours.
  now(stat_of(1060, 530, 10, 0), self_of(130, 5));
  const Reading first = meter.measure();
  EXPECT_DOUBLE_EQ(first.cpu, 0.75);
  EXPECT_DOUBLE_EQ(first.memory, 1);
  // No tick has passed: the same answer.
  EXPECT_DOUBLE_EQ(meter.measure().cpu, 0.75);
  // 50 of 200 ticks were stolen by the hypervisor, the rest was ours.
  now(stat_of(1210, 530, 10, 50), self_of(280, 5));
  EXPECT_DOUBLE_EQ(meter.measure().cpu, 0.75);
  // Another 100, all of other programs.
  now(stat_of(1310, 530, 10, 50), self_of(280, 5));
  EXPECT_DOUBLE_EQ(meter.measure().cpu, 0);
}

TEST_F(MeterTest, ABoundProcessCountsOnlyItsProcessors) {
  const auto stat = [](int others, int idle) {
    return "cpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 " + std::to_string(100 * idle) + " 0 0 0 0\ncpu1 " +
           std::to_string(others) + " 0 0 " + std::to_string(idle) + " 0 0 0 0\n";
  };
  now(stat(0, 0), self_of(0, 0));
  Meter meter(folder_.path(), {1});
  EXPECT_EQ(meter.cores(), 1U);
  now(stat(75, 25), self_of(0, 0));
  EXPECT_DOUBLE_EQ(meter.measure().left, 0.25) << "the idle processor is not ours";
}

TEST_F(MeterTest, ReadsFilesOfAnyLength) {
  ProcFile file(folder_.path() / "stat");
  EXPECT_EQ(file.contents(), "");
  for (const std::size_t length : {10'000U, 100'000U, 4096U, 10U}) {
    const std::string text(length, '0');
    folder_.write("stat", text);
    EXPECT_EQ(file.contents(), text);
  }
}

TEST_F(MeterTest, StaysInRangeIfTheCountersAreInconsistent) {
  now(stat_of(1000, 500, 10, 0), self_of(100, 0));
  Meter meter(folder_.path());
  now(stat_of(1010, 590, 10, 0), self_of(150, 0));  // ours is read later than the machine's
  EXPECT_DOUBLE_EQ(meter.measure().cpu, 1);
  now(stat_of(1110, 590, 0, 0), self_of(150, 0));  // waiting time goes back
  EXPECT_DOUBLE_EQ(meter.measure().cpu, 0);
}

TEST_F(MeterTest, IsUnknownWithoutProc) {
  Meter meter(folder_.path() / "absent");
  const Reading reading = meter.measure();
  EXPECT_EQ(reading.cpu, -1);
  EXPECT_EQ(reading.memory, -1);
}

TEST_F(MeterTest, RestartsWhenProcIsBack) {
  Meter meter(folder_.path());
  now(stat_of(0, 0, 0, 0), self_of(0, 0));
  EXPECT_EQ(meter.measure().cpu, -1);
  now(stat_of(50, 50, 0, 0), self_of(0, 0));
  EXPECT_DOUBLE_EQ(meter.measure().cpu, 0.5);
}

TEST(Meter, ReadsThisMachine) {
  if (!std::filesystem::exists("/proc/self/stat")) GTEST_SKIP() << "there is no /proc here";
  Meter meter;
  const Reading reading = meter.measure();
  EXPECT_THAT(reading.cpu, AllOf(Ge(-1), Le(1)));
  EXPECT_GT(reading.memory, 0);
}

}  // namespace
}  // namespace steelyard::meter_test
