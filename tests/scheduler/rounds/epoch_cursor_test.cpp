// The training's place in the data, and when training is over.
#include "scheduler/rounds/epoch_cursor.h"

#include <gtest/gtest.h>

#include <vector>

namespace steelyard::epoch_cursor_test {
namespace {

Job job(std::uint64_t samples, std::uint64_t batch, std::uint64_t epochs = 2) {
  Job it;
  it.train_samples = samples;
  it.global_batch = batch;
  it.epochs = epochs;
  return it;
}

TEST(EpochCursor, EveryEpochIsTiledByItsRounds) {
  for (const std::uint64_t samples : {1U, 7U, 64U, 100U}) {
    for (const std::uint64_t batch : {1U, 7U, 32U, 100U, 1000U}) {
      EpochCursor cursor(job(samples, batch, 3), {});
      Round round = 0;
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        EXPECT_TRUE(cursor.at_epoch_start());
        Position at = 0;
        while (at < samples) {
          ASSERT_EQ(cursor.round(), round++);
          ASSERT_EQ(cursor.epoch(), epoch);
          ASSERT_EQ(cursor.positions().begin, at);
          ASSERT_LE(cursor.positions().size(), batch);
          ASSERT_FALSE(cursor.positions().empty());
          at = cursor.positions().end;
          ASSERT_EQ(cursor.ends_epoch(), at == samples);
          ASSERT_FALSE(cursor.over(0));
          cursor.advance();
        }
        ASSERT_EQ(at, samples);
      }
      EXPECT_TRUE(cursor.over(0)) << samples << " by " << batch;
    }
  }
}

TEST(EpochCursor, TheLastRoundOfAnEpochTakesTheRest) {
  EpochCursor cursor(job(100, 32), {});
  for (int i = 0; i < 3; ++i) cursor.advance();
  EXPECT_EQ(cursor.positions(), (Interval{96, 100}));
  EXPECT_DOUBLE_EQ(cursor.epochs_done(), 0.96);
  cursor.advance();
  EXPECT_EQ(cursor.positions(), (Interval{0, 32}));
  EXPECT_EQ(cursor.epoch(), 1U);
}

TEST(EpochCursor, ResumesWhereTheCheckpointWas) {
  const Job it = job(100, 32, 5);
  EpochCursor whole(it, {});
  for (int i = 0; i < 6; ++i) whole.advance();
  const Progress saved = whole.progress(4, 12.5);
  EXPECT_EQ(std::tie(saved.term, saved.version, saved.epoch, saved.offset, saved.seconds),
            std::make_tuple(4U, 6U, 1U, 64U, 12.5));
  EpochCursor resumed(it, saved);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(resumed.positions(), whole.positions());
    EXPECT_EQ(resumed.epoch(), whole.epoch());
    EXPECT_EQ(resumed.round(), whole.round());
    resumed.advance();
    whole.advance();
  }
}

TEST(EpochCursor, AnotherBatchAfterAResumeStillTilesTheEpoch) {
  EpochCursor cursor(job(100, 30), {1, 3, 0, 64, 0, {}});
  EXPECT_EQ(cursor.positions(), (Interval{64, 94}));
  cursor.advance();
  EXPECT_EQ(cursor.positions(), (Interval{94, 100}));
}

TEST(EpochCursor, StopsAtTheFirstLimitReached) {
  Job it = job(100, 50, 10);
  it.rounds = 3;
  it.seconds = 60;
  EpochCursor cursor(it, {});
  EXPECT_FALSE(cursor.over(59.9));
  EXPECT_TRUE(cursor.over(60));
  for (int i = 0; i < 3; ++i) cursor.advance();
  EXPECT_TRUE(cursor.over(0));
  Job endless = job(100, 50, 0);
  EpochCursor forever(endless, {});
  for (int i = 0; i < 1000; ++i) forever.advance();
  EXPECT_FALSE(forever.over(1e9)) << "0 sets no limit";
}

TEST(EpochCursor, EvaluationsAndCheckpointsFallOnEpochEnds) {
  Job it = job(100, 40, 6);
  it.evaluate_every = 2;
  it.checkpoint_every = 3;
  EpochCursor cursor(it, {});
  std::vector<std::uint64_t> evaluated, saved;
  while (!cursor.over(0)) {
    if (cursor.evaluates_after_next()) evaluated.push_back(cursor.epoch());
    if (cursor.saves_after_next()) saved.push_back(cursor.epoch());
    cursor.advance();
  }
  EXPECT_EQ(evaluated, (std::vector<std::uint64_t>{1, 3, 5}));
  EXPECT_EQ(saved, (std::vector<std::uint64_t>{2, 5}));
  it.evaluate_every = it.checkpoint_every = 0;
  EpochCursor never(it, {});
  while (!never.over(0)) {
    ASSERT_FALSE(never.evaluates_after_next() || never.saves_after_next());
    never.advance();
  }
}

TEST(EpochCursor, LocalStepsMakeLongerRounds) {
  Job it = job(100, 16, 2);
  it.sync = parse_sync("local:3");
  EpochCursor cursor(it, {});
  std::vector<std::uint64_t> sizes, steps;
  for (; !cursor.over(0); cursor.advance()) {
    sizes.push_back(cursor.positions().size());
    steps.push_back(cursor.local().steps);
  }
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{48, 48, 4, 48, 48, 4}));
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{3, 3, 1, 3, 3, 1}));
}

TEST(EpochCursor, OneshotRoundsCoverAnEpochOrAllThatRemain) {
  Job it = job(100, 16, 5);
  it.sync = parse_sync("oneshot:epoch");
  EXPECT_EQ(EpochCursor(it, {}).positions(), (Interval{0, 100}));
  EXPECT_EQ(EpochCursor(it, {}).local(), (LocalSteps{7, 1}));
  it.sync = parse_sync("oneshot:end");
  // Resumes in the middle of epoch 2: first the rest of it, then all later epochs in one round.
  EpochCursor cursor(it, Progress{1, 9, 2, 40, 0, {}});
  EXPECT_EQ(cursor.positions(), (Interval{40, 100}));
  EXPECT_EQ(cursor.local(), (LocalSteps{4, 1}));
  cursor.advance();
  EXPECT_EQ(cursor.positions(), (Interval{0, 100}));
  EXPECT_EQ(cursor.local(), (LocalSteps{7, 2}));
  EXPECT_FALSE(cursor.over(0));
  cursor.advance();
  EXPECT_EQ(cursor.epoch(), 5U);
  EXPECT_TRUE(cursor.over(0));
}

TEST(EpochCursorDeathTest, RequiresADataSetAndAPlaceInIt) {
  EXPECT_DEATH(EpochCursor(job(0, 1), {}), "has samples and a batch");
  EXPECT_DEATH(EpochCursor(job(10, 1), (Progress{1, 0, 0, 10, 0, {}})), "inside an epoch");
}

TEST(EpochCursor, PacedRoundsHaveTheGivenLengthWithinTheEpoch) {
  Job it = job(100, 16);
  it.sync = parse_sync("orchestra");
  EpochCursor cursor(it, {});
  EXPECT_EQ(cursor.positions(), (Interval{0, 16}));
  EXPECT_EQ(cursor.local(), (LocalSteps{1, 1}));
  cursor.take(40);
  EXPECT_EQ(cursor.positions(), (Interval{0, 40}));
  EXPECT_EQ(cursor.local(), (LocalSteps{3, 1})) << "batches, of which the last is not whole";
  cursor.advance();
  cursor.take(59);
  EXPECT_FALSE(cursor.ends_epoch());
  cursor.take(UINT64_MAX);
  EXPECT_EQ(cursor.positions(), (Interval{40, 100}));
  EXPECT_TRUE(cursor.ends_epoch());
  cursor.advance();
  EXPECT_EQ(cursor.epoch(), 1U);
  cursor.take(24);
  EXPECT_EQ(cursor.positions(), (Interval{0, 24}));
  EXPECT_DEATH(EpochCursor(job(100, 16), {}).take(0), "a round has positions");
}

// The number of rounds out of 20 after which a checkpoint is due.
std::uint64_t saved_of_20(const Job& job) {
  EpochCursor cursor(job, {});
  std::uint64_t saved = 0;
  for (int round = 0; round < 20; ++round, cursor.advance()) saved += cursor.saves_after_next() ? 1 : 0;
  return saved;
}

// Such an epoch is one step: a checkpoint after each would keep the disk busy and the training waiting.
TEST(EpochCursor, EpochsOfOneStepAreNotSaved) {
  Job it = job(100, 100, 100);
  EXPECT_EQ(saved_of_20(it), 0U) << "checkpoint_minutes is set";
  it.checkpoint_every = 5;
  EXPECT_EQ(saved_of_20(it), 0U);
  it.checkpoint_rounds = 4;
  EXPECT_EQ(saved_of_20(it), 5U) << "the job asks for rounds";
  it.checkpoint_rounds = 0;
  it.checkpoint_minutes = 0;
  EXPECT_EQ(saved_of_20(it), 4U) << "no other setting asks for checkpoints";
}

TEST(EpochCursor, EpochsOfSeveralStepsAreSaved) {
  EXPECT_EQ(saved_of_20(job(100, 99, 100)), 10U);
  for (const char* sync : {"oneshot:epoch", "local:4", "diloco:1"}) {
    Job it = job(100, 100, 100);
    it.sync = parse_sync(sync);
    EXPECT_EQ(saved_of_20(it), 20U) << sync << ": a round has several steps";
  }
}

}  // namespace
}  // namespace steelyard::epoch_cursor_test
