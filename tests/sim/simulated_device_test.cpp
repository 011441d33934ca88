#include "sim/simulated_device.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::device_test {
namespace {

Scenario with(const Event& event) {
  Scenario scenario = made(100, {{10, 1}, {10, 1}});
  scenario.rounds = 1000;
  scenario.samples_per_epoch = 100'000;
  scenario.events.push_back(event);
  return scenario;
}
double ms(const Scenario& scenario, Round round, std::size_t worker = 0) {
  return Devices(scenario, scenario.seed).true_ms(worker, round, 50);  // 60 if undisturbed
}

TEST(Devices, UndisturbedDevicesFollowTheirCurve) {
  EXPECT_DOUBLE_EQ(ms(made(100, {{10, 1}}), 0), 60);
  const Scenario scenario = made(100, {{10, 1}});
  EXPECT_EQ(Devices(scenario, 1).true_ms(0, 0, 0), 0) << "an empty batch takes no time";
}

TEST(Devices, EffectsCombineAsDocumented) {
  Event event = on(0, 3, 5);
  event.add_ms = 7;
  event.scale = 2;
  event.cpu = 0.5;
  const Scenario scenario = with(event);
  EXPECT_DOUBLE_EQ(ms(scenario, 2), 60);
  EXPECT_DOUBLE_EQ(ms(scenario, 3), 60 * 2 / 0.5 + 7);
  EXPECT_DOUBLE_EQ(ms(scenario, 4), 60 * 2 / 0.5 + 7);
  EXPECT_DOUBLE_EQ(ms(scenario, 5), 60);
  EXPECT_DOUBLE_EQ(ms(scenario, 3, 1), 60) << "the other worker is unaffected";
  EXPECT_DOUBLE_EQ(Devices(scenario, 1).cpu(0, 4), 0.5);
  EXPECT_DOUBLE_EQ(Devices(scenario, 1).cpu(0, 5), 1);
}

Event by_clock(Shape shape, double from_s, double to_s) {
  Event event;
  event.by_clock = true;
  event.shape = shape;
  event.from_s = from_s, event.to_s = to_s;
  event.scale = 2, event.memory = 0.5, event.network = 3;
  return event;
}

TEST(Devices, ClockEventsApplyInAnyRound) {
  Scenario scenario = with(by_clock(Shape::step, 10, 20));
  scenario.workers[0].memory_mb = 1000;
  const Devices devices(scenario, 1);
  for (const Round round : {0, 7}) {
    EXPECT_DOUBLE_EQ(devices.true_ms(0, round, 50, 9.9), 60);
    EXPECT_DOUBLE_EQ(devices.true_ms(0, round, 50, 10), 120);
    EXPECT_DOUBLE_EQ(devices.memory_mb(0, round, 15), 500);
    EXPECT_DOUBLE_EQ(devices.network(0, round, 19.9), 3);
    EXPECT_DOUBLE_EQ(devices.drawn_ms(0, round, 50, 20), 60);
    EXPECT_DOUBLE_EQ(devices.network(0, round, 20), 1);
  }
}

TEST(Devices, ClockEventsHaveShapes) {
  const Scenario ramp = with(by_clock(Shape::ramp, 10, 20));
  EXPECT_DOUBLE_EQ(Devices(ramp, 1).true_ms(0, 0, 50, 15), 90);
  EXPECT_DOUBLE_EQ(Devices(ramp, 1).true_ms(0, 0, 50, 50), 120) << "the final value stays";
  Event event = by_clock(Shape::periodic, 1, 9);
  event.period_s = 4, event.length_s = 1.5;
  const Scenario periodic = with(event);
  const Devices devices(periodic, 1);
  for (const auto& [at_s, ms] :
       {std::pair{0.5, 60.0}, {1.0, 120.0}, {2.4, 120.0}, {2.5, 60.0}, {5.1, 120.0}, {9.1, 60.0}})
    EXPECT_DOUBLE_EQ(devices.true_ms(0, 0, 50, at_s), ms) << at_s;
}

TEST(Devices, MemoryIsReportedWithoutChangingTimes) {
  Event event = on(0, 3, 5);
  event.memory = 0.25;
  Scenario scenario = with(event);
  scenario.workers[0].memory_mb = 16'000;
  const Devices devices(scenario, 1);
  EXPECT_DOUBLE_EQ(devices.memory_mb(0, 2), 16'000);
  EXPECT_DOUBLE_EQ(devices.memory_mb(0, 3), 4'000);
  EXPECT_DOUBLE_EQ(devices.memory_mb(0, 5), 16'000);
  EXPECT_DOUBLE_EQ(ms(scenario, 3), 60);
  EXPECT_EQ(devices.memory_mb(1, 3), -1) << "its memory was not configured";
}

TEST(Devices, MemoryEventsHaveShapes) {
  Event event = on(0, 5, UINT64_MAX);
  event.shape = Shape::bursty;
  event.mean_gap = 10;
  event.mean_length = 5;
  event.memory = 0.5;
  event.cpu = 0.5;
  event.scale = 3;
  Scenario scenario = with(event);
  scenario.workers[0].memory_mb = 1000;
  const Devices bursty(scenario, 1);
  int struck = 0;
  for (Round round = 0; round < 1000; ++round) {
    EXPECT_NEAR(bursty.memory_mb(0, round), 1000 * bursty.cpu(0, round), 1e-9) << round;
    EXPECT_EQ(bursty.memory_mb(0, round) < 1000, bursty.true_ms(0, round, 50) > 60) << round;
    struck += bursty.memory_mb(0, round) < 1000;
  }
  EXPECT_GT(struck, 100);
  scenario.events[0].shape = Shape::ramp;
  scenario.events[0].to = 15;
  EXPECT_DOUBLE_EQ(Devices(scenario, 1).memory_mb(0, 10), 750) << "half of the ramp to one half";
}

// The mean over a round in which an event begins lies between the two states; a reading at its end shows the
// new one, and none before it does.
TEST(Devices, BurstyEventsBeginAndEndInsideARound) {
  Event event = on(0, 5, UINT64_MAX);
  event.shape = Shape::bursty;
  event.mean_gap = 10;
  event.mean_length = 5;
  event.cpu = 0.5;
  Scenario scenario = with(event), late = scenario, oracle = scenario;
  late.readings = Readings::late, oracle.readings = Readings::oracle;
  const Devices devices(scenario, 1), later(late, 1), knowing(oracle, 1);
  double part = 0;
  int changes = 0;
  for (Round round = 1; round < 900; ++round) {
    const double before = devices.reading(0, round - 1).cpu, after = devices.reading(0, round).cpu;
    const double mean = devices.cpu(0, round);
    EXPECT_EQ(later.reading(0, round).cpu, mean);
    EXPECT_EQ(knowing.reading(0, round - 1).cpu, mean);
    EXPECT_NEAR(devices.true_ms(0, round, 50), 60 / mean, 1e-9) << "of work at two speeds";
    if (before == after) {
      EXPECT_EQ(mean, after);
      continue;
    }
    EXPECT_GT(mean, 0.5) << round;
    EXPECT_LT(mean, 1) << round;
    // 1 / mean = done / before + (1 - done) / after.
    part += (1 / mean - 1 / after) / (1 / before - 1 / after);
    ++changes;
  }
  EXPECT_GT(changes, 50);
  EXPECT_NEAR(part / changes, 0.5, 0.12) << "uniform in the round";
}

TEST(Devices, RampsGrowAndKeepTheirFinalValue) {
  Event event = on(0, 10, 20);
  event.shape = Shape::ramp;
  event.scale = 3;
  const Scenario scenario = with(event);
  EXPECT_DOUBLE_EQ(ms(scenario, 10), 60);
  EXPECT_DOUBLE_EQ(ms(scenario, 15), 120);
  EXPECT_DOUBLE_EQ(ms(scenario, 20), 180);
  EXPECT_DOUBLE_EQ(ms(scenario, 900), 180);
}

TEST(Devices, PeriodicEventsRepeat) {
  Event event = on(0, 5, 100);
  event.shape = Shape::periodic;
  event.period = 10;
  event.length = 3;
  event.network = 4;
  event.scale = 2;
  const Scenario scenario = with(event);
  const Devices devices(scenario, 1);
  for (Round round = 0; round < 120; ++round) {
    const bool struck = round >= 5 && round < 100 && (round - 5) % 10 < 3;
    EXPECT_DOUBLE_EQ(devices.true_ms(0, round, 50), struck ? 120 : 60) << round;
    EXPECT_DOUBLE_EQ(devices.network(0, round), struck ? 4 : 1) << round;
  }
}

TEST(Devices, BurstsHaveTheirMeanGapAndLength) {
  Event event = on(0, 0, UINT64_MAX);
  event.worker.reset();  // all workers
  event.shape = Shape::bursty;
  event.mean_gap = 10;
  event.mean_length = 5;
  event.scale = 2;
  const Scenario scenario = with(event);
  const Devices devices(scenario, scenario.seed);
  int struck = 0, together = 0;
  for (Round round = 0; round < 1000; ++round) {
    struck += devices.true_ms(0, round, 50) > 100;
    together += devices.true_ms(0, round, 50) > 100 && devices.true_ms(1, round, 50) > 100;
  }
  EXPECT_NEAR(struck, 333, 120);
  EXPECT_LT(together, struck) << "each worker has its own bursts";
}

TEST(Devices, RandomWalksMoveWithinTheirBounds) {
  Event event = on(0, 100, UINT64_MAX);
  event.shape = Shape::random_walk;
  event.deviation = 0.1;
  event.lowest = 0.5;
  event.highest = 2;
  const Scenario scenario = with(event);
  const Devices devices(scenario, scenario.seed);
  double low = 1e9, high = 0;
  for (Round round = 0; round < 1000; ++round) {
    const double it = devices.true_ms(0, round, 50);
    EXPECT_TRUE(round >= 100 || it == 60) << round;
    low = std::min(low, it);
    high = std::max(high, it);
  }
  EXPECT_GE(low, 30 - 1e-3);
  EXPECT_LE(high, 120 + 1e-3);
  EXPECT_GT(high, low * 2);
}

TEST(Devices, NoiseDependsOnWorkerAndRoundOnly) {
  Scenario scenario = made(100, {{0, 1}, {0, 1}});
  scenario.workers[0].noise = scenario.workers[1].noise = 0.1;
  const Devices devices(scenario, 5), same(scenario, 5), others(scenario, 6);
  EXPECT_DOUBLE_EQ(devices.drawn_ms(0, 3, 20) / 20, devices.drawn_ms(0, 3, 70) / 70);
  EXPECT_EQ(devices.drawn_ms(0, 3, 20), same.drawn_ms(0, 3, 20));
  EXPECT_NE(devices.drawn_ms(0, 3, 20), others.drawn_ms(0, 3, 20));
  EXPECT_NE(devices.drawn_ms(0, 3, 20), devices.drawn_ms(1, 3, 20));
  EXPECT_NE(devices.drawn_ms(0, 3, 20), devices.drawn_ms(0, 4, 20));
  double sum = 0, squares = 0;
  for (Round round = 0; round < 4000; ++round) {
    const double factor = devices.drawn_ms(0, round, 10) / 10;
    sum += factor;
    squares += (factor - 1) * (factor - 1);
  }
  EXPECT_NEAR(sum / 4000, 1, 0.01);
  EXPECT_NEAR(std::sqrt(squares / 4000), 0.1, 0.01);
}

TEST(Devices, UnforeseenEventsAreNotInTrueTimes) {
  Event event = on(0, 7, 8);
  event.scale = 5;
  event.unforeseen = true;
  const Scenario scenario = with(event);
  const Devices devices(scenario, scenario.seed);
  EXPECT_DOUBLE_EQ(devices.true_ms(0, 7, 50), 60);
  EXPECT_DOUBLE_EQ(devices.drawn_ms(0, 7, 50), 300);
}

TEST(Devices, MeasuredCurvesReplacePolynomials) {
  Scenario scenario = made(100, {{10, 1}});
  scenario.workers[0].time_ms.clear();
  scenario.workers[0].measured = {{10, 30}, {60, 80}};
  EXPECT_DOUBLE_EQ(ms(scenario, 0), 70);
}

TEST(Devices, NoBatchTakesLessThanTheFlatTime) {
  Scenario scenario = made(100, {{10, 1}});
  scenario.workers[0].flat_ms = 40;
  const Devices devices(scenario, 1);
  EXPECT_EQ(devices.true_ms(0, 0, 0), 0);
  EXPECT_DOUBLE_EQ(devices.true_ms(0, 0, 1), 40);
  EXPECT_DOUBLE_EQ(devices.true_ms(0, 0, 30), 40);
  EXPECT_DOUBLE_EQ(devices.true_ms(0, 0, 31), 41);
}

TEST(Devices, RecordingsScaleDrawnAndTrueTimes) {
  Scenario scenario = made(100, {{10, 1}});
  scenario.workers[0].recording = {{1, 3, 0.5}, {1, 1, 2}};
  const Devices devices(scenario, 1);
  const double factors[] = {1, 3, 0.5, 1, 3}, trends[] = {1, 1, 2, 1, 1};
  for (Round round = 0; round < 5; ++round) {
    EXPECT_DOUBLE_EQ(devices.drawn_ms(0, round, 50), 60 * factors[round]) << round;
    EXPECT_DOUBLE_EQ(devices.true_ms(0, round, 50), 60 * trends[round]) << round;
  }
}

// Half of the processor from 1 s on: a batch of 60 ms that begins 30 ms earlier takes 90 ms.
TEST(Devices, TracesFollowTimeAndSetTheCpuShare) {
  Event event = on(0, 3, 4);
  event.add_ms = 7;
  event.cpu = 0.5;
  Scenario scenario = with(event);
  scenario.workers[0].trace = {SpeedTrace::Kind::cpu, {0, 1}, {1, 0.5}};
  const Devices devices(scenario, 1);
  EXPECT_DOUBLE_EQ(devices.drawn_ms(0, 0, 50, 0.5), 60);
  EXPECT_NEAR(devices.drawn_ms(0, 0, 50, 0.97), 30 + 60, 1e-9);
  EXPECT_NEAR(devices.true_ms(0, 0, 50, 2), 120, 1e-9);
  EXPECT_NEAR(devices.drawn_ms(0, 3, 50, 2), 60 / 0.5 / 0.5 + 7, 1e-9)
      << "the share of the event multiplies that of the trace";
  EXPECT_NEAR(devices.cpu(0, 0, 0.97, 0.09), (0.03 + 0.06 * 0.5) / 0.09, 1e-9);
  EXPECT_NEAR(devices.cpu(0, 3, 2, 0.1), 0.25, 1e-9);
  scenario.workers[0].trace.kind = SpeedTrace::Kind::speed;
  EXPECT_EQ(devices.cpu(0, 0, 2, 0.1), 1) << "a trace of speed does not change the CPU share";
}

TEST(Devices, RestlessMachinesJitterSleepAndPause) {
  Scenario scenario = made(100, {{10, 1}, {10, 1}, {10, 1}});
  scenario.workers[0].jitter = 0.3;
  scenario.workers[1].quantum_ms = 25;
  scenario.workers[2].pause_chance = 0.1;
  scenario.workers[2].pause_ms = 40;
  const Devices devices(scenario, 1);
  double logarithms = 0, squares = 0, paused = 0, pauses = 0;
  constexpr Round rounds = 10'000;
  for (Round round = 0; round < rounds; ++round) {
    const double deviation = std::log(devices.drawn_ms(0, round, 50) / 60);
    logarithms += deviation / rounds;
    squares += deviation * deviation / rounds;
    EXPECT_EQ(devices.drawn_ms(1, round, 50), 75);
    const double pause = devices.drawn_ms(2, round, 50) - 60;
    paused += pause;
    pauses += pause > 0 ? 1 : 0;
    EXPECT_EQ(devices.true_ms(0, round, 50), 60) << "true times contain no jitter or pauses";
  }
  EXPECT_NEAR(logarithms, 0, 0.02);
  EXPECT_NEAR(std::sqrt(squares), 0.3, 0.01);
  EXPECT_NEAR(pauses / rounds, 0.1, 0.015);
  EXPECT_NEAR(paused / pauses, 40, 5);
}

TEST(Devices, EventsWithTheSameDrawsCoincide) {
  Event event = on(0, 0, UINT64_MAX);
  event.shape = Shape::bursty;
  event.scale = 2;
  event.mean_gap = event.mean_length = 5;
  event.draws = 17;
  Event second = event;
  second.worker = 1;
  Scenario scenario = with(event);
  scenario.events.push_back(second);
  Scenario other = scenario;
  other.events[1].draws = 18;
  int same = 0;
  for (Round round = 0; round < 200; ++round) {
    EXPECT_EQ(ms(scenario, round, 0), ms(scenario, round, 1));
    same += ms(other, round, 0) == ms(other, round, 1);
  }
  EXPECT_LT(same, 150);
}

TEST(Devices, AWorkerThatJoinsLaterIsAbsentAtStart) {
  Event event = on(1, 7, UINT64_MAX);
  event.join = true;
  const Scenario scenario = with(event);
  EXPECT_TRUE(Devices(scenario, 1).present_at_start(0));
  EXPECT_FALSE(Devices(scenario, 1).present_at_start(1));
}

}  // namespace
}  // namespace steelyard::sim::device_test
