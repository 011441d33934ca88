// Which version a worker computes from and pulls next, under both rules.
#include "worker/pull_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::pull_rule_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Stage = HeldPiece::Stage;

class PullRuleTest : public ::testing::Test {
 protected:
  void have(Version version, bool spent = false) {
    current_.version = current_.lowest = version;
    current_.begun = true;
    current_.steps = {11, 12};
    current_.spent = spent;
  }
  void pulling(Version version, std::uint64_t ticket = 1) {
    next_.version = version;
    next_.begun = true;
    next_.ticket = ticket;
  }
  // A piece that is done has a push.
  void hold(Round round, Interval positions, Stage stage, Version least = 0,
            Purpose purpose = Purpose::train) {
    HeldPiece piece;
    piece.start.piece = {pieces_.size() + 1, round, purpose, 0, positions};
    piece.start.least = least;
    piece.stage = stage;
    if (stage == Stage::done) piece.pushes.emplace_back();
    pieces_.push_back(piece);
  }
  [[nodiscard]] PullRule::View view(bool computing = false) const {
    return {pieces_, current_, next_, computing};
  }
  static Parameters answer(Version version, std::uint64_t ticket) {
    return {.version = version, .values = {}, .ticket = ticket};
  }
  static Start start(Round round, Interval positions = {0, 8}, Version least = 0) {
    return {.piece = {.round = round, .positions = positions}, .least = least};
  }

  const std::unique_ptr<const PullRule> exact_ = pull_rule(parse_sync("bsp"));
  const std::unique_ptr<const PullRule> arrival_ = pull_rule(parse_sync("ssp:2"));
  std::vector<HeldPiece> pieces_;
  VersionBuffer current_, next_;
};

TEST_F(PullRuleTest, ExactRuleNeedsTheVersionOfTheRound) {
  EXPECT_EQ(exact_->version_for(start(4)), 4U);
  EXPECT_FALSE(exact_->suits(start(4), current_)) << "there are no parameters";
  have(4);
  EXPECT_TRUE(exact_->suits(start(4), current_));
  EXPECT_FALSE(exact_->suits(start(3), current_));
  EXPECT_FALSE(exact_->suits(start(5), current_));
  have(4, true);
  EXPECT_TRUE(exact_->suits(start(4), current_)) << "a second piece of that round needs it";
}

TEST_F(PullRuleTest, ExactRulePullsTheOldestNeededThenTheNext) {
  EXPECT_EQ(exact_->next(view()), std::nullopt) << "nothing is owed";
  hold(6, {0, 8}, Stage::waiting);
  hold(5, {0, 8}, Stage::waiting);
  EXPECT_EQ(exact_->next(view()), 5U);
  pieces_.clear();
  have(5);
  hold(5, {0, 8}, Stage::done);
  EXPECT_EQ(exact_->next(view(true)), std::nullopt) << "while it computes";
  EXPECT_EQ(exact_->next(view()), 6U) << "its own push leads to it";
  pieces_.clear();
  hold(5, {0, 8}, Stage::done, 0, Purpose::evaluate);
  EXPECT_EQ(exact_->next(view()), std::nullopt) << "no version follows from an evaluation";
}

// Up to the last barrier, a worker pulls what the barrier makes; then it pulls what there is.
TEST_F(PullRuleTest, SyncSwitchPullsTheNextVersionUntilItSwitches) {
  const auto rule = pull_rule(parse_sync("sync-switch:50"), 6);
  have(4, true);
  hold(4, {0, 8}, Stage::done);
  EXPECT_EQ(rule->next(view()), 5U);
  pieces_.clear();
  have(5, true);
  hold(5, {0, 8}, Stage::done);
  EXPECT_EQ(rule->next(view()), 6U);
  pieces_.clear();
  have(6, true);
  hold(9, {0, 8}, Stage::done);
  EXPECT_EQ(rule->next(view()), 6U) << "any later version will do";
}

TEST_F(PullRuleTest, ExactAnswersAcknowledgeEarlierRounds) {
  pulling(5, 9);
  EXPECT_TRUE(exact_->serves(5, view()));
  EXPECT_FALSE(exact_->serves(4, view()));
  EXPECT_TRUE(exact_->answers(answer(5, 8), next_)) << "with any ticket";
  EXPECT_FALSE(exact_->answers(answer(6, 9), next_));
  have(5);
  hold(4, {0, 8}, Stage::done);
  hold(5, {0, 8}, Stage::done);
  EXPECT_TRUE(exact_->acknowledges(pieces_[0], current_));
  EXPECT_FALSE(exact_->acknowledges(pieces_[1], current_));
  EXPECT_THAT(exact_->own(view()), IsEmpty());
  EXPECT_FALSE(exact_->repeats_for(start(5), view()));
  EXPECT_EQ(exact_->steps(current_, 1), 0U);
}

// Each version exists once for each hub, and once for the evaluation.
TEST_F(PullRuleTest, WithHubsAVersionBelongsToOneHub) {
  const auto rule = pull_rule(parse_sync("mll:4:2:2"));
  Start own = start(5), other = start(5);
  own.piece.hub = 2, other.piece.hub = 1;
  have(5), current_.hub = 2;
  EXPECT_TRUE(rule->suits(own, current_));
  EXPECT_FALSE(rule->suits(other, current_));
  EXPECT_FALSE(rule->suits(start(5), current_)) << "an evaluation needs the average";
  pulling(6, 9), next_.hub = 2;
  EXPECT_TRUE(rule->serves({6, 2}, view()));
  EXPECT_FALSE(rule->serves({6, 1}, view()));
  EXPECT_FALSE(rule->serves(6, view()));
  EXPECT_TRUE(rule->answers(answer(6, 9), next_));
  EXPECT_FALSE(rule->answers(answer(6, 8), next_)) << "it may be of another hub";
}

TEST_F(PullRuleTest, AnotherHubsVersionIsPulledAfterOwnPieces) {
  using Wanted = PullRule::Wanted;
  const auto rule = pull_rule(parse_sync("mll:4:2:2"));
  have(5), current_.hub = 2;
  hold(5, {0, 8}, Stage::computing), pieces_[0].start.piece.hub = 2;
  hold(5, {8, 16}, Stage::waiting), pieces_[1].start.piece.hub = 1;
  EXPECT_EQ(rule->next(view(true)), std::nullopt);
  pieces_[0].stage = Stage::waiting;
  EXPECT_EQ(rule->next(view()), std::nullopt) << "pieces of the current version come first";
  pieces_[0].stage = Stage::done;
  EXPECT_EQ(rule->next(view()), Wanted(5, 1)) << "before the next version, which waits for it";
  pieces_[1].stage = Stage::done, current_.hub = 1;
  EXPECT_EQ(rule->next(view()), Wanted(6, 1));
  hold(6, {16, 24}, Stage::waiting), pieces_[2].start.piece.hub = 2;
  EXPECT_EQ(rule->next(view()), Wanted(6, 2));
}

TEST_F(PullRuleTest, OnArrivalParametersServeOneTrainingPiece) {
  EXPECT_EQ(arrival_->version_for(start(7, {0, 8}, 5)), 5U);
  have(5);
  EXPECT_TRUE(arrival_->suits(start(7, {0, 8}, 5), current_));
  EXPECT_FALSE(arrival_->suits(start(9, {0, 8}, 6), current_)) << "too old";
  have(5, true);
  EXPECT_FALSE(arrival_->suits(start(7, {0, 8}, 5), current_)) << "the previous piece must be included";
  EXPECT_TRUE(arrival_->outdated_by_training());
  EXPECT_EQ(arrival_->steps(current_, 1), 12U);
}

TEST_F(PullRuleTest, OnArrivalNothingIsPulledWhileAPieceIsComputed) {
  have(5, true);
  hold(7, {0, 8}, Stage::computing, 5);
  EXPECT_EQ(arrival_->next(view(true)), std::nullopt);
  pieces_[0].stage = Stage::done;
  EXPECT_EQ(arrival_->next(view()), 6U) << "a piece of round 8 needs that, with a slack of 2";
  hold(8, {0, 8}, Stage::waiting, 4);
  EXPECT_EQ(arrival_->next(view()), 4U) << "it needs less";
}

TEST_F(PullRuleTest, OnArrivalALaterPullServesIfItNeedNotWait) {
  have(5, true);
  pulling(5);
  EXPECT_TRUE(arrival_->serves(5, view()));
  EXPECT_TRUE(arrival_->serves(4, view())) << "every slice has had version 5";
  pulling(6);
  EXPECT_FALSE(arrival_->serves(4, view())) << "version 6 may wait for the piece that needs 4";
  pulling(5, 3);
  EXPECT_TRUE(arrival_->answers(answer(6, 3), next_));
  EXPECT_FALSE(arrival_->answers(answer(6, 2), next_)) << "its own pushes may be missing";
  EXPECT_FALSE(arrival_->answers(answer(4, 3), next_));
}

TEST_F(PullRuleTest, OnArrivalPullsNameOwnPushesExceptThoseOwedAgain) {
  have(5, true);
  hold(7, {0, 32}, Stage::done);
  EXPECT_TRUE(arrival_->repeats_for(start(7, {8, 16}), view()));
  EXPECT_FALSE(arrival_->repeats_for(start(8, {8, 16}), view())) << "of another round";
  hold(7, {8, 16}, Stage::waiting);
  const std::vector<Contribution> own = arrival_->own(view());
  ASSERT_THAT(own, SizeIs(2));
  EXPECT_EQ(own[0].positions, (Interval{0, 8}));
  EXPECT_EQ(own[1].positions, (Interval{16, 32}));
  EXPECT_TRUE(arrival_->acknowledges(pieces_[0], current_));
  EXPECT_FALSE(arrival_->acknowledges(pieces_[1], current_));
}

}  // namespace
}  // namespace steelyard::pull_rule_test
