// Comparisons as an HTML document.
#include "app/report/compare/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/report/page/page.h"
#include "tests/app/report/compare/made.h"

namespace steelyard::html_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Json block_in(const Comparison& comparison, const std::string& id) {
  const Json document = comparison_document({comparison});
  for (const Json& it : document["sections"][0]["blocks"]) {
    if (it["id"] == id) return it;
  }
  return {};
}

Json accuracy_of(const Comparison& comparison) { return block_in(comparison, "accuracy"); }

void clear_evaluations(Comparison& comparison) {
  for (Entry& entry : comparison.entries) {
    for (Trial& trial : entry.trials) trial.evaluations.clear();
  }
}

TEST(ComparePage, IsSelfContainedAndEscapesNames) {
  Comparison comparison = made_comparison();
  comparison.name = "a<b";
  std::string text = page(comparison_document({comparison}));
  text.erase(text.find(chart_script), std::string(chart_script).size());
  EXPECT_THAT(text, AllOf(HasSubstr("a&lt;b"), HasSubstr("it &lt;broke&gt;"), Not(HasSubstr("<broke>")),
                          HasSubstr("<th>gain on equal bsp</th>"), HasSubstr("<th>efficiency</th>"),
                          HasSubstr("runs with seed 7")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("http")), Not(HasSubstr("src=")), Not(HasSubstr("url(h")),
                          Not(HasSubstr("@import"))));
}

TEST(ComparePage, BeginsWithTheVerdictAndCards) {
  EXPECT_THAT(block_in(made_comparison(), "verdict").dump(), HasSubstr("is first"));
  EXPECT_THAT(
      block_in(made_comparison(), "cards").dump(),
      AllOf(HasSubstr("first at the target"), HasSubstr("gain on equal bsp"), HasSubstr("test accuracy")));
}

TEST(ComparePage, LinesAndBarsHaveTheColourOfTheirMethod) {
  const Json lines = accuracy_of(made_comparison())["series"];
  EXPECT_EQ(lines[0]["name"], "equal bsp");
  EXPECT_EQ(lines[0]["colour"], method_colour("equal", "bsp"));
  EXPECT_EQ(lines[1]["colour"], method_colour("lb-bsp", "bsp"));
  EXPECT_EQ(lines[3]["colour"], "alone");
  const Json bars = block_in(made_comparison(), "ideal");
  EXPECT_EQ(bars["rows"].size(), 2U) << "asp and the single worker have no bar";
  EXPECT_THAT(bars.dump(), AllOf(HasSubstr("[[\"hue-2\",0.92]]"), HasSubstr("92.0 %"), HasSubstr("94.0 %")));
}

// LB-BSP's three measures: the time to the target is the product of the other two.
TEST(ComparePage, ThreeFiguresSplitTheTimeToTheTarget) {
  Comparison comparison = made_comparison();
  for (Evaluation& it : comparison.entries[2].trials[0].evaluations) it.accuracy = 0.1;
  for (Evaluation& it : comparison.entries[2].trials[2].evaluations) it.accuracy = 0.1;
  const auto values = [&](const char* id) {
    const Json block = block_in(comparison, id);
    std::vector<std::string> texts;
    for (const Json& row : block["rows"])
      texts.push_back(row["name"].get<std::string>() + " " + row["value"].get<std::string>());
    return texts;
  };
  EXPECT_THAT(values("update-time"), testing::UnorderedElementsAre("lb-bsp bsp 200 ms", "equal bsp 400 ms",
                                                                   "fast alone 300 ms", "equal asp 150 ms"));
  EXPECT_THAT(values("target-updates"),
              testing::UnorderedElementsAre("lb-bsp bsp 20", "equal bsp 20", "fast alone 20",
                                            "equal asp not reached"));
  EXPECT_THAT(values("target-time"),
              testing::UnorderedElementsAre("lb-bsp bsp 4.0 s", "equal bsp 8.0 s", "fast alone 6.0 s",
                                            "equal asp not reached"));
  comparison.target = 0;
  EXPECT_TRUE(block_in(comparison, "target-time").is_null()) << "there is no target";
}

TEST(ComparePage, AccuracyIsAlsoDrawnByEpochs) {
  Comparison comparison = made_comparison();
  EXPECT_TRUE(block_in(comparison, "learning").is_null()) << "the epochs are unknown";
  for (Entry& entry : comparison.entries) {
    for (Trial& trial : entry.trials) {
      for (std::size_t i = 0; i < trial.evaluations.size(); ++i) trial.evaluations[i].epochs = i + 1;
    }
  }
  const Json block = block_in(comparison, "learning");
  EXPECT_EQ(block["series"].size(), 3U) << "a worker alone learns like equal bsp";
  EXPECT_EQ(block["x"], Json({1, 2, 3}));
  EXPECT_EQ(block["columns"][0], "epochs");
  EXPECT_EQ(block["rows"].size(), 3U);
}

// asp failed in the second repeat; in the first and the third every method has a line.
TEST(ComparePage, AllLinesComeFromOneRepeat) {
  Comparison comparison = made_comparison();
  EXPECT_EQ(drawn_repeat(comparison), 0U);
  EXPECT_EQ(accuracy_of(comparison)["series"].size(), 4U);
  EXPECT_EQ(accuracy_of(comparison)["target"], 80);
  EXPECT_EQ(accuracy_of(comparison)["series"][0]["mean"], Json({50, 80, 90})) << "a dot for each evaluation";
  comparison.entries[1].trials[0] = failed_trial("it broke");
  EXPECT_EQ(drawn_repeat(comparison), 2U) << "more methods have a line in the third repeat";
  EXPECT_THAT(accuracy_of(comparison)["note"].get<std::string>(), HasSubstr("seed 9"));
}

TEST(ComparePage, WithoutEvaluationsThereIsNoChart) {
  Comparison comparison = made_comparison();
  clear_evaluations(comparison);
  EXPECT_TRUE(accuracy_of(comparison).is_null());
  EXPECT_FALSE(block_in(comparison, "ideal").is_null());
  EXPECT_TRUE(accuracy_of(Comparison{}).is_null());
  EXPECT_TRUE(block_in(Comparison{}, "ideal").is_null());
}

TEST(ComparePage, BarsAreClippedAtTheIdeal) {
  Comparison comparison = made_comparison();
  comparison.entries[1].trials = {made_trial(6, 125)};
  EXPECT_THAT(block_in(comparison, "ideal").dump(),
              AllOf(HasSubstr("[[\"hue-2\",1]]"), HasSubstr("too short to tell")));
}

}  // namespace
}  // namespace steelyard::html_test
