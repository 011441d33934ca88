#include "sim/invariants_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::sim::expected_hubs_test {
namespace {

using testing::HasSubstr;

// Rounds have ten positions. The gradient of a position is 1 in the first half of a round and 3 in the
// second.
double gradient(Interval positions) {
  double sum = 0;
  for (Position p = positions.begin; p < positions.end; ++p) sum += p % 10 < 5 ? 1 : 3;
  return sum;
}

Piece piece(Round round, Position begin, Position end, HubNumber hub) {
  return {.round = round, .positions = {10 * round + begin, 10 * round + end}, .hub = hub};
}

class ExpectedHubsTest : public testing::Test {
 protected:
  std::string close(Round round) { return it_.close({10 * round, 10 * round + 10}, gradient); }

  ExpectedHubs it_{{.count = 2, .mix_every = 2}};
};

// Computed by hand. Round 0: hub 1 has positions 0 to 4 and gets -1, hub 2 has the others and gets -3; the
// average is -2. Round 1: hub 1 has the first eight, -1 - 14 / 8 = -2.75, hub 2 has two, -3 - 3 = -6. Since
// the last mix they have had 13 and 7 positions: (13 * -2.75 + 7 * -6) / 20 = -3.8875, from which both
// continue. Round 2: hub 1 has all positions.
TEST_F(ExpectedHubsTest, TracksEachHubAndTheAverage) {
  it_.computed(piece(0, 0, 5, 1));
  it_.computed(piece(0, 5, 10, 2));
  EXPECT_EQ(close(0), "");
  it_.computed(piece(1, 0, 8, 1));
  it_.computed(piece(1, 8, 10, 2));
  EXPECT_EQ(close(1), "");
  it_.computed(piece(2, 0, 10, 1));
  EXPECT_EQ(close(2), "");
  ASSERT_EQ(it_.averages().size(), 3U);
  EXPECT_DOUBLE_EQ(it_.averages()[0].value, -2);
  EXPECT_DOUBLE_EQ(it_.averages()[1].value, -3.8875);
  EXPECT_DOUBLE_EQ(it_.averages()[1].positions, 20);
  EXPECT_DOUBLE_EQ(it_.averages()[2].value, -5.8875) << "hub 2 does not move and has no weight";
}

TEST_F(ExpectedHubsTest, RepeatedPiecesChangeNothing) {
  for (int i = 0; i < 2; ++i) {
    it_.computed(piece(0, 0, 5, 1));
    it_.computed(piece(0, 5, 10, 2));
  }
  it_.computed(piece(0, 6, 8, 2));  // a part of the second piece
  EXPECT_EQ(close(0), "");
  it_.computed(piece(0, 0, 10, 2));  // ignored: the round has closed
  EXPECT_DOUBLE_EQ(it_.averages().at(0).value, -2);
}

TEST_F(ExpectedHubsTest, DetectsPositionsOfNoHubOrOfTwo) {
  it_.computed(piece(0, 0, 5, 1));
  EXPECT_THAT(close(0), HasSubstr("no hub, or of two"));
  ExpectedHubs both({.count = 2, .mix_every = 2});
  both.computed(piece(0, 0, 6, 1));
  both.computed(piece(0, 5, 10, 2));
  EXPECT_THAT(both.close({0, 10}, gradient), HasSubstr("no hub, or of two"));
  ExpectedHubs none({.count = 2, .mix_every = 2});
  none.computed(piece(0, 0, 10, 3));
  EXPECT_THAT(none.close({0, 10}, gradient), HasSubstr("hub 3"));
}

// On a line of three hubs, one mix does not carry the value of one end to the other end.
TEST(ExpectedHubsOnALine, HubsMixWithNeighboursOnly) {
  ExpectedHubs it({.count = 3, .mix_every = 1, .graph = Hubs::Graph::line});
  it.computed(piece(0, 0, 5, 1));
  it.computed(piece(0, 5, 7, 2));
  it.computed(piece(0, 7, 10, 3));
  ASSERT_EQ(it.close({0, 10}, gradient), "");
  // Hub 1: (5 * -1 + 2 * -3) / 7; hub 2: the average of all; hub 3: -3.
  EXPECT_NEAR(it.averages()[0].value, (5 * (-11.0 / 7) + 2 * -2.0 + 3 * -3.0) / 10, 1e-12);
}

}  // namespace
}  // namespace steelyard::sim::expected_hubs_test
