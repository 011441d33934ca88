#include "app/tools/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"

namespace steelyard::candidates_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// A worker that takes `ms` per sample and `transfer_ms` to transfer the model.
MeasuredWorker worker(const std::string& name, double ms, double transfer_ms = 0) {
  return {name, {{128, 128 * ms}, {512, 512 * ms}}, 0, 0.5, transfer_ms};
}

Job job() {
  Job it;
  it.train_samples = 60'000;
  it.global_batch = 512;
  it.layout.ranges = {{0, 250'000}};
  return it;
}

const Candidate& best_of(const std::vector<Candidate>& ranked, const std::string& sync) {
  return *std::ranges::find_if(ranked, [&](const Candidate& it) { return it.mode.sync == sync; });
}

TEST(PlanCandidates, EverySetOfFewWorkersIsTried) {
  std::vector<MeasuredWorker> measured{worker("a", 1), worker("b", 2), worker("c", 4)};
  const auto sets = worker_sets(measured, 512);
  EXPECT_THAT(sets, SizeIs(7));
  EXPECT_THAT(sets, testing::Contains(ElementsAre(0U, 2U)));
}

TEST(PlanCandidates, TheFastestOfManyWorkersAreTriedFirst) {
  std::vector<MeasuredWorker> measured;
  for (int i = 0; i < 7; ++i) measured.push_back(worker("w" + std::to_string(i), 7 - i));
  measured[6].transfer_ms = 1e6;  // the fastest, far away
  const auto sets = worker_sets(measured, 512);
  ASSERT_THAT(sets, SizeIs(7));
  EXPECT_THAT(sets[0], ElementsAre(5U));
  EXPECT_THAT(sets[1], ElementsAre(4U, 5U));
  EXPECT_THAT(sets[6], SizeIs(7));
  EXPECT_THAT(sets[5], testing::Not(testing::Contains(6U)));
}

TEST(PlanCandidates, TheScenarioHasTheWorkersLinks) {
  const sim::Scenario scenario =
      scenario_of(job(), {worker("a", 1), worker("b", 2, 200)}, {1}, {"diloco:64", true});
  ASSERT_THAT(scenario.workers, SizeIs(1));
  EXPECT_EQ(scenario.workers[0].name, "b");
  EXPECT_DOUBLE_EQ(sim::network_of(scenario, 0).model_ms(), 200);
  EXPECT_DOUBLE_EQ(scenario.workers[0].latency_ms, 0.5);
  EXPECT_EQ(scenario.network.push_encoding, FloatCode::int4);
  EXPECT_EQ(scenario_of(job(), {worker("a", 1)}, {0}, {"bsp", false}).network.push_encoding,
            FloatCode::float32);
}

TEST(PlanCandidates, EqualWorkersWithFastLinksAreAllUsed) {
  const auto ranked = ranked_candidates(job(), {worker("a", 0.1), worker("b", 0.1)}, {{"bsp", false}});
  EXPECT_THAT(ranked, SizeIs(3));
  EXPECT_THAT(ranked.front().workers, ElementsAre("a", "b"));
  // 512 samples in 25.6 ms and two latencies.
  EXPECT_NEAR(ranked.front().rate, 512 / 0.0266, 200);
  EXPECT_NEAR(ranked.front().efficiency, 25.6 / 26.6, 0.01);
}

TEST(PlanCandidates, DistantWorkersIdleUnderBspAndWorkUnderDiloco) {
  const std::vector<MeasuredWorker> measured{worker("near", 0.1), worker("far", 0.1, 500)};
  const auto ranked = ranked_candidates(job(), measured, plan_modes());
  EXPECT_THAT(best_of(ranked, "bsp").workers, ElementsAre("near"));
  EXPECT_THAT(ranked.front().workers, ElementsAre("near", "far"));
  EXPECT_EQ(ranked.front().mode.sync, "diloco:64");
  EXPECT_THAT(best_of(ranked, "flexrr").workers, SizeIs(2)) << "work stealing needs a second worker";
}

TEST(PlanCandidates, AnAddedWorkerCopiesAnother) {
  std::vector<MeasuredWorker> measured{worker("a", 1, 7)};
  add_worker(measured, parse_added("big=a*4"));
  ASSERT_THAT(measured, SizeIs(2));
  EXPECT_EQ(measured[1].name, "big");
  EXPECT_DOUBLE_EQ(sim::on_curve(measured[1].curve, 512), 128);
  EXPECT_EQ(measured[1].transfer_ms, 7);
  add_worker(measured, parse_added("twin=big"));
  EXPECT_DOUBLE_EQ(sim::on_curve(measured[2].curve, 512), 128);
}

TEST(PlanCandidates, InvalidAdditionsAreRefused) {
  for (const char* text : {"", "big", "big=", "=a", "big=a*", "big=a*0", "big=a*x", "big=a*1e9", "a/b=a"})
    EXPECT_THROW(parse_added(text), Failure) << text;
  std::vector<MeasuredWorker> measured{worker("half", 1)};
  EXPECT_THROW(add_worker(measured, {"half", "half", 2}), Failure);
  try {
    add_worker(measured, {"big", "hafl", 2});
    ADD_FAILURE() << "it was accepted";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("half"));
  }
}

}  // namespace
}  // namespace steelyard::candidates_test
