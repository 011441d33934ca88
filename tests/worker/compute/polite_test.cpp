#include "worker/compute/polite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::polite_test {
namespace {

using testing::HasSubstr;

TEST(PoliteShare, IsOfTheCoresLeftByOthers) {
  struct Row {
    double left;
    unsigned cores, threads;
    double share;
  };
  for (const Row& it : {Row{1, 2, 1, 1},          // no other program runs
                        Row{0.5, 2, 1, 1},        // one core each
                        Row{0.25, 2, 1, 0.5},     // half a core is left
                        Row{0.5, 2, 2, 0.5},      // one core for two threads
                        Row{0.75, 16, 16, 0.75},  //
                        Row{0.75, 16, 12, 1},     //
                        Row{0, 2, 1, 0.05},       // nothing is left: the minimum, to stay in the job
                        Row{0.01, 2, 1, 0.05},    //
                        Row{-1, 2, 2, 1}}) {      // unknown
    EXPECT_DOUBLE_EQ(polite_share(it.left, it.cores, it.threads), it.share)
        << it.left << " of " << it.cores << " for " << it.threads;
  }
}

class PolitePaceTest : public testing::Test {
 protected:
  // Ticks since the machine started: of other programs, of nice programs, and idle.
  void now(int others, int nice, int idle) const {
    folder_.write("stat", "cpu " + std::to_string(others) + " " + std::to_string(nice) + " 0 " +
                              std::to_string(idle) + " 0 0 0 0\n");
    folder_.write("self/stat", "1 (w) S 1 1 1 0 -1 4194304 10 0 0 0 " + std::to_string(nice) + " 0 0 0\n");
  }
  static Time at(long ms) { return Time{} + milliseconds(1'000'000 + ms); }

  TemporaryFolder folder_;
};

TEST_F(PolitePaceTest, ReadsTheCountersFiveTimesASecond) {
  now(0, 0, 0);
  PolitePace pace(1, Meter(folder_.path()));
  now(0, 100, 100);
  EXPECT_EQ(pace.share(at(0)), 1) << "nice programs do not count";
  now(200, 100, 100);
  EXPECT_EQ(pace.share(at(199)), 1) << "not yet";
  EXPECT_EQ(pace.share(at(200)), 0.05);
  now(200, 100, 300);
  EXPECT_EQ(pace.share(at(400)), 1);
}

TEST_F(PolitePaceTest, PausesInProportionWhileItIsWanted) {
  now(0, 0, 0);
  PolitePace pace(1, Meter(folder_.path()));
  int asked = 0;
  pace.pause(milliseconds(0), [&] { return ++asked < 3; });
  EXPECT_EQ(asked, 0) << "nothing was done yet";
  now(100, 0, 0);
  std::this_thread::sleep_for(milliseconds(210));  // the counters are due
  pace.pause(milliseconds(100), [&] { return ++asked < 3; });
  EXPECT_EQ(asked, 3) << "100 ms of work are 1900 of rest";
}

TEST_F(PolitePaceTest, ContinuesWhenOtherProgramsAreDone) {
  now(0, 0, 0);
  PolitePace pace(1, Meter(folder_.path()));
  pace.pause(milliseconds(0), [] { return true; });
  now(100, 0, 0);
  std::this_thread::sleep_for(milliseconds(210));
  int asked = 0;
  pace.pause(milliseconds(100), [&] {
    now(100, 0, 100 * ++asked);
    return true;
  });
  EXPECT_LE(asked, 2);
}

TEST(GiveWay, AppliesToTheThreadAndThoseItStarts) {
  const auto gives_way = [] {
    return sched_getscheduler(0) == SCHED_IDLE && getpriority(PRIO_PROCESS, 0) == 19;
  };
  const auto in_a_process_of_its_own = [&] {
    bool before = false, itself = false, started = false;
    std::thread([&] {
      before = gives_way();
      give_way();
      itself = gives_way();
      std::thread([&] { started = gives_way(); }).join();
    }).join();
    _exit(!before && itself && started && !gives_way() ? 0 : 1);
  };
  EXPECT_EXIT(in_a_process_of_its_own(), testing::ExitedWithCode(0), "");
}

class CountingEngine final : public Engine {
 public:
  explicit CountingEngine(std::uint64_t bytes) : bytes_(bytes) {}
  nn::Sums train(std::span<const float>, Samples& samples, std::span<float>,
                 const FinalRange& on_final) override {
    nn::Sums sums;
    while (samples.next() != nullptr) ++sums.correct;
    on_final(0, 1);
    return sums;
  }
  nn::Sums evaluate(std::span<const float> parameters, Samples& samples) override {
    return train(parameters, samples, {}, [](std::uint64_t, std::uint64_t) {});
  }
  [[nodiscard]] std::vector<std::uint32_t> micro_batch_sizes() const override { return {32, 1}; }
  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }
  [[nodiscard]] WorkPlace work_place() const override { return WorkPlace::other_threads; }

 private:
  std::uint64_t bytes_;
};

class Five final : public Samples {
 public:
  const nn::MicroBatch* next() override { return left_-- > 0 ? &batch_ : nullptr; }
  [[nodiscard]] bool at_end() const override { return left_ == 0; }

 private:
  int left_ = 5;
  nn::MicroBatch batch_{};
};

Workload workload_of(std::uint64_t bytes) {
  Workload workload;
  workload.make_engine = [bytes] { return std::make_unique<CountingEngine>(bytes); };
  return workload;
}

TEST(PoliteEngine, ComputesTheSameAsTheEngine) {
  const std::unique_ptr<Engine> engine = polite(workload_of(7), 2).make_engine();
  Five trained, evaluated;
  int finals = 0;
  EXPECT_EQ(engine->train({}, trained, {}, [&](std::uint64_t, std::uint64_t) { ++finals; }).correct, 5U);
  EXPECT_EQ(engine->evaluate({}, evaluated).correct, 5U);
  EXPECT_EQ(finals, 1);
  EXPECT_EQ(engine->bytes(), 7U);
  EXPECT_EQ(engine->micro_batch_sizes().front(), 32U);
  EXPECT_EQ(engine->work_place(), WorkPlace::other_threads);
}

TEST(PoliteEngine, IsNotMadeWithoutEnoughMemory) {
  try {
    (void)polite(workload_of(std::uint64_t{1} << 60), 1).make_engine();
    FAIL() << "it was made";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::temporary);
    EXPECT_THAT(failure.what(), HasSubstr("MB are free"));
  }
}

}  // namespace
}  // namespace steelyard::polite_test
