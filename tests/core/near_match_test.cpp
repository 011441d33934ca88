#include "core/error.h"

#include <gmock/gmock.h>

namespace steelyard::near_match_test {
namespace {

TEST(NearMatch, DistancesCountEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("batch", "bacth"), 1U);  // a transposition of two neighbours
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);       // restricted: no letter is edited twice
  EXPECT_EQ(edit_distance("Weight-Decay", "weight_decay"), 0U);
}

TEST(NearMatch, DistanceIsSymmetric) {
  const std::vector<std::string> words{"lr", "", "momentum", "mentum", "epochs", "epcohs", "a"};
  for (const auto& a : words) {
    for (const auto& b : words) EXPECT_EQ(edit_distance(a, b), edit_distance(b, a)) << a << " " << b;
  }
}

TEST(NearMatch, OnlyNearMatchesAreProposed) {
  const std::vector<std::string> keys{"batch", "epochs", "lr", "momentum"};
  EXPECT_EQ(near_match("bach", keys), "batch");
  EXPECT_EQ(near_match("momentun", keys), "momentum");
  EXPECT_EQ(near_match("l", keys), "lr");
  EXPECT_EQ(near_match("temperature", keys), "");
  EXPECT_EQ(near_match("", {}), "");
}

TEST(NearMatch, TheFirstOfEquallyNearNamesWins) {
  EXPECT_EQ(near_match("cat", {"car", "can"}), "car");
  EXPECT_EQ(near_match("can", {"car", "can"}), "can");
}

TEST(NearMatch, ProposalsAreFormattedAsQuestions) {
  EXPECT_EQ(did_you_mean("ecophs", {"epochs", "lr"}), "; did you mean \"epochs\"?");
  EXPECT_EQ(did_you_mean("x", {"epochs"}), "");
  EXPECT_EQ(joined({"a", "b"}), "a, b");
  EXPECT_EQ(joined({}), "");
}

}  // namespace
}  // namespace steelyard::near_match_test
