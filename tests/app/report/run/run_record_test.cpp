// Reads a run from its files.
#include "app/report/run/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/run/made_run.h"

namespace steelyard::run_record_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::SizeIs;

TEST(RunRecord, HasRoundsWithTheirTimes) {
  MadeRun made;
  made.process(0).round({"b", "a"}, {30, 70}, {15, 20}).evaluation(0.5);
  const RunRecord record = made.record();
  ASSERT_THAT(record.rounds, SizeIs(2));
  EXPECT_THAT(record.workers, ElementsAre("a", "b"));
  const RunRound& round = record.rounds[0];
  EXPECT_THAT(round.begin, DoubleNear(0, 1e-9));
  EXPECT_THAT(round.end, DoubleNear(0.025, 1e-9));
  EXPECT_EQ(round.samples(), 100U);
  EXPECT_THAT(round.slowest(), DoubleNear(0.02, 1e-9));
  ASSERT_THAT(round.parts, SizeIs(2));
  EXPECT_EQ(round.parts[0].worker, 1U) << "b";
  EXPECT_EQ(round.parts[0].share, 30U);
  EXPECT_FALSE(record.rounds[1].train);
  EXPECT_EQ(record.rounds[1].accuracy, 0.5);
}

TEST(RunRecord, NumbersInWorkerNamesSortByValue) {
  MadeRun made;
  made.round({"box-10", "box-9"}, {1, 2}, {1, 1});
  const RunRecord record = made.record();
  EXPECT_THAT(record.workers, ElementsAre("box-9", "box-10"));
  EXPECT_EQ(record.rounds[0].parts[0].worker, 1U);
}

// Each process has its own clock.
TEST(RunRecord, TimesContinueAfterAResumption) {
  MadeRun made;
  made.process(0).note("hello").round({"a"}, {1}, {95}).round({"a"}, {1}, {95}).note("worker 'b' is lost");
  made.process(1).note("back").round({"a"}, {1}, {45}).note("all is well");
  const RunRecord record = made.record();
  ASSERT_THAT(record.rounds, SizeIs(3));
  EXPECT_THAT(record.rounds[1].end, DoubleNear(0.2, 1e-9));
  EXPECT_THAT(record.rounds[2].begin, DoubleNear(0.2, 1e-9));
  EXPECT_THAT(record.rounds[2].end, DoubleNear(0.25, 1e-9));
  EXPECT_THAT(record.origins, SizeIs(2));
  EXPECT_EQ(record.origins[0].version, "1.2.3");
  std::vector<std::string> texts;
  std::vector<double> times;
  for (const RunEvent& it : record.events) {
    texts.push_back(it.text);
    times.push_back(it.at);
  }
  EXPECT_THAT(texts,
              ElementsAre("hello", "worker 'b' is lost", "the run was resumed", "back", "all is well"));
  EXPECT_THAT(times, ElementsAre(DoubleNear(0, 1e-9), DoubleNear(0.2, 1e-9), DoubleNear(0.2, 1e-9),
                                 DoubleNear(0.2, 1e-9), DoubleNear(0.25, 1e-9)));
}

TEST(RunRecord, UnreadableLinesAreCountedAndIgnored) {
  MadeRun made;
  made.round({"a"}, {1}, {1});
  const std::string good = made.rounds;
  const RunRecord record =
      run_record("{\"round\": 7\n[]\n{}\n{\"at_ms\":\"x\"}\n{\"at_ms\":1,\"round_ms\":1,\"workers\":7}\n" +
                     good + R"({"at_ms":9,"round_ms":3,"workers":[1],"sh)",
                 "nonsense\n{\"text\":7,\"at_ms\":-4}\n", "{");
  EXPECT_THAT(record.rounds, SizeIs(2));
  EXPECT_EQ(record.unreadable, 4U);
  EXPECT_FALSE(record.result.known);
}

TEST(RunReader, ForgetsTheOldestRoundsAndKeepsEvaluations) {
  MadeRun made;
  made.process(0).evaluation(0.25);
  for (int i = 0; i < 30; ++i) made.round({"b", "a"}, {1, 2}, {95, 95});
  RunReader reader;
  reader.event_lines(made.events);
  reader.round_lines(made.rounds);
  reader.forget(91);
  EXPECT_EQ(reader.so_far().left_out, 0U) << "91 is exactly the limit";
  reader.forget(60);
  const RunRecord record = reader.record();
  ASSERT_THAT(record.rounds, SizeIs(10)) << "an evaluation and 9 rounds of two workers: at most half of 60";
  EXPECT_FALSE(record.rounds[0].train);
  EXPECT_EQ(record.rounds[1].round, 21U);
  EXPECT_EQ(record.left_out, 21U);
  EXPECT_THAT(record.left_out_seconds, DoubleNear(2.1, 1e-9));
  EXPECT_THAT(record.workers, ElementsAre("a", "b"));
  EXPECT_THAT(reader.so_far().workers, ElementsAre("b", "a"));
  MadeRun evaluations;
  for (int i = 0; i < 100; ++i) evaluations.evaluation(0.5);
  reader.round_lines(evaluations.rounds);
  reader.forget(60);
  EXPECT_LE(reader.so_far().rounds.size(), 60U);
}

TEST(RunRecord, EmptyFilesGiveAnEmptyRecord) {
  const RunRecord record = run_record("", "", "");
  EXPECT_THAT(record.rounds, SizeIs(0));
  EXPECT_EQ(record.unreadable, 0U);
}

}  // namespace
}  // namespace steelyard::run_record_test
