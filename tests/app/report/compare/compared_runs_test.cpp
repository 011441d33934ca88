// The methods of a comparison and the order of their runs.
#include "app/report/compare/compared_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/compare/made.h"
#include "tests/support/complaint.h"

namespace steelyard::compared_runs_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> known{"equal", "lb-bsp", "lbb"};

std::vector<std::string> labels(const std::vector<Contender>& contenders) {
  std::vector<std::string> texts;
  for (const Contender& it : contenders) texts.push_back(label(it));
  return texts;
}

TEST(CompareEntrants, EachPolicyRunsWithEachSyncMode) {
  EXPECT_THAT(labels(read_entrants("equal,lbb", "bsp,asp", known, "bsp")),
              ElementsAre("equal bsp", "equal asp", "lbb bsp", "lbb asp"));
}

TEST(CompareEntrants, APolicyMayNameItsModeAndDuplicatesAreDropped) {
  EXPECT_THAT(labels(read_entrants("equal,equal/ssp:2,lbb,equal/bsp", "", known, "bsp")),
              ElementsAre("equal bsp", "equal ssp:2", "lbb bsp"));
}

TEST(CompareEntrants, EqualBspIsAlwaysIncluded) {
  EXPECT_THAT(labels(read_entrants("lbb", "asp", known, "bsp")), ElementsAre("equal bsp", "lbb asp"));
  EXPECT_THAT(labels(read_entrants("", "", known, "local:4")),
              ElementsAre("equal bsp", "equal local:4", "lb-bsp local:4", "lbb local:4"));
}

TEST(CompareEntrants, InvalidListsAreRejected) {
  EXPECT_THAT(complaint_of([] { read_entrants("equal,lbbb", "", known, "bsp"); }),
              HasSubstr("did you mean \"lbb\"?"));
  EXPECT_THAT(complaint_of([] { read_entrants(",", "", known, "bsp"); }), HasSubstr("--policies is empty"));
  EXPECT_THAT(complaint_of([] { read_entrants("lbb", ",", known, "bsp"); }), HasSubstr("names no mode"));
}

// Records the order of the runs.
struct Script {
  std::vector<std::string> runs;
  Comparison comparison;
  Contest contest;

  explicit Script(std::uint64_t repeats) {
    comparison.repeats = repeats;
    for (const char* policy : {"equal", "lb-bsp"}) comparison.entries.push_back({{policy, "bsp", ""}, {}});
    contest.run = [this](const Contender& contender, std::uint64_t repeat) {
      runs.push_back(plain_label(contender) + "-" + std::to_string(repeat + 1));
      return made_trial(1);
    };
  }
};

TEST(CompareOrder, RepeatsAreInterleavedAndTheBestAloneComesLast) {
  Script script(2);
  std::size_t seen = 0;
  script.contest.best_alone = [&](const Comparison& so_far) {
    seen = so_far.entries.back().trials.size();
    return Contender{"equal", "bsp", "fast"};
  };
  std::vector<std::string> counts;
  script.contest.begins = [&](const Contender&, std::uint64_t, std::size_t done, std::size_t of) {
    counts.push_back(std::to_string(done) + "/" + std::to_string(of));
  };
  run_all(script.comparison, script.contest);
  EXPECT_THAT(script.runs, ElementsAre("equal-bsp-1", "lb-bsp-bsp-1", "fast-alone-1", "equal-bsp-2",
                                       "lb-bsp-bsp-2", "fast-alone-2"));
  EXPECT_THAT(counts, ElementsAre("0/6", "1/6", "2/6", "3/6", "4/6", "5/6"));
  EXPECT_EQ(seen, 1U) << "the best single device is chosen after the first repeat";
  EXPECT_FALSE(script.comparison.interrupted);
}

TEST(CompareOrder, FailuresAreIsolatedAndHopelessMethodsRunOnce) {
  Script script(3);
  script.contest.run = [&](const Contender& contender, std::uint64_t) {
    script.runs.push_back(label(contender));
    Trial trial = contender.policy == "equal" ? failed_trial("wrong") : made_trial(1);
    trial.hopeless = contender.policy == "equal";
    return trial;
  };
  run_all(script.comparison, script.contest);
  EXPECT_THAT(script.runs, ElementsAre("equal bsp", "lb-bsp bsp", "lb-bsp bsp", "lb-bsp bsp"));
  EXPECT_EQ(script.comparison.entries[0].trials.size(), 3U);
  EXPECT_EQ(script.comparison.entries[1].trials.size(), 3U);
}

TEST(CompareOrder, AnInterruptionKeepsFinishedRuns) {
  Script script(2);
  bool asked = false;
  script.contest.interrupted = [&] { return asked; };
  script.contest.run = [&](const Contender& contender, std::uint64_t repeat) {
    asked = repeat == 1 && contender.policy == "equal";
    return asked ? failed_trial("interrupted") : made_trial(1);
  };
  run_all(script.comparison, script.contest);
  EXPECT_TRUE(script.comparison.interrupted);
  EXPECT_EQ(script.comparison.entries[0].trials.size(), 1U) << "the interrupted run does not count";
  EXPECT_EQ(script.comparison.entries[1].trials.size(), 1U);
}

}  // namespace
}  // namespace steelyard::compared_runs_test
