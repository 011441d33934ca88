#include "worker/compute/piece_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace steelyard::piece_requests_test {
namespace {

using testing::SizeIs;

// Keeps its requests.
class Requested final : public SampleFeed {
 public:
  std::shared_ptr<FeedRequest> request(const Piece& piece) override {
    all.push_back(std::make_shared<FeedRequest>(piece));
    return all.back();
  }
  const nn::MicroBatch* next(const std::shared_ptr<FeedRequest>&) override { return nullptr; }
  void close() override {}

  std::vector<std::shared_ptr<FeedRequest>> all;
};

class PieceRequestsTest : public testing::Test {
 protected:
  // Of rounds of 100 positions.
  static Piece piece(Round round, Interval positions, PieceId id = 0) {
    return {.id = id > 0 ? id : 10 * round + 1,
            .round = round,
            .epoch = round / 10,
            .positions = positions,
            .whole = {round % 10 * 100, round % 10 * 100 + 100}};
  }
  std::shared_ptr<FeedRequest> compute(const Piece& piece) {
    auto request = requests_.take(piece);
    requests_.guess_after(piece);
    return request;
  }
  [[nodiscard]] Interval last() const { return feed_.all.back()->piece.positions; }

  Requested feed_;
  PieceRequests requests_{feed_, 1000};
};

TEST_F(PieceRequestsTest, TheNextPieceIsRequestedOnceSharesHaveSettled) {
  compute(piece(0, {0, 40}));
  EXPECT_THAT(feed_.all, SizeIs(1));
  compute(piece(1, {100, 140}));
  ASSERT_THAT(feed_.all, SizeIs(3));
  EXPECT_EQ(last(), (Interval{200, 240}));
  EXPECT_EQ(compute(piece(2, {200, 240})), feed_.all[2]) << "it is requested already";
  EXPECT_EQ(last(), (Interval{300, 340}));
}

TEST_F(PieceRequestsTest, AGuessThatWasWrongIsCancelled) {
  compute(piece(0, {0, 40}));
  compute(piece(1, {100, 140}));
  compute(piece(2, {200, 250}));
  ASSERT_THAT(feed_.all, SizeIs(4)) << "and the next piece is not known";
  EXPECT_TRUE(feed_.all[2]->cancelled());
  EXPECT_FALSE(feed_.all[3]->cancelled());
  compute(piece(3, {300, 350}));
  EXPECT_EQ(last(), (Interval{400, 450})) << "they have settled again";
}

TEST_F(PieceRequestsTest, AnAnnouncementConfirmsTheGuess) {
  compute(piece(0, {0, 40}));
  compute(piece(1, {100, 140}));
  const Piece next = piece(2, {200, 240});
  requests_.announce(next);
  requests_.announce(next);
  EXPECT_THAT(feed_.all, SizeIs(3));
  requests_.cut(next.id, 220);
  EXPECT_EQ(feed_.all[2]->take_asked_end(), 220U) << "under the piece's own number";
  EXPECT_EQ(requests_.take(next), feed_.all[2]);
}

TEST_F(PieceRequestsTest, NothingIsGuessedBehindAnEpochOrAmongPiecesOfOneRound) {
  compute(piece(8, {840, 900}));
  compute(piece(9, {940, 1000}));
  EXPECT_THAT(feed_.all, SizeIs(2)) << "an evaluation follows the epoch";
  compute(piece(10, {0, 20}, 101));
  compute(piece(10, {20, 40}, 102));
  compute(piece(10, {40, 60}, 103));
  EXPECT_THAT(feed_.all, SizeIs(5));
}

TEST_F(PieceRequestsTest, LocalStepsAndEvaluationsAreNotGuessed) {
  for (const Round round : {0, 1}) {
    Piece local = piece(round, {100 * round, 100 * round + 40});
    local.local.steps = 2;
    compute(local);
  }
  for (const Round round : {2, 3}) {
    Piece evaluation = piece(round, {100 * round, 100 * round + 40});
    evaluation.purpose = Purpose::evaluate;
    compute(evaluation);
  }
  EXPECT_THAT(feed_.all, SizeIs(4));
}

TEST_F(PieceRequestsTest, AnAbandonedGuessIsCancelled) {
  compute(piece(0, {0, 40}));
  compute(piece(1, {100, 140}));
  requests_.abandon(1);
  EXPECT_TRUE(feed_.all[0]->cancelled());
  EXPECT_FALSE(feed_.all[1]->cancelled());
  EXPECT_FALSE(feed_.all[2]->cancelled());
  requests_.abandon(2);
  EXPECT_TRUE(feed_.all[1]->cancelled());
  EXPECT_TRUE(feed_.all[2]->cancelled());
  EXPECT_NE(requests_.take(piece(2, {200, 240})), feed_.all[2]);
}

TEST_F(PieceRequestsTest, AnnouncementsAreLimitedAndEndWithTheFirstOtherPiece) {
  for (Round round = 0; round < 9; ++round) requests_.announce(piece(round, {0, 40}));
  EXPECT_THAT(feed_.all, SizeIs(PieceRequests::most_announced));
  EXPECT_EQ(requests_.take(piece(1, {0, 40})), feed_.all[1]);
  EXPECT_TRUE(feed_.all[0]->cancelled()) << "the feed keeps the order of its requests";
  const auto other = requests_.take(piece(7, {0, 40}));
  EXPECT_EQ(other, feed_.all.back());
  EXPECT_TRUE(feed_.all[2]->cancelled());
}

}  // namespace
}  // namespace steelyard::piece_requests_test
