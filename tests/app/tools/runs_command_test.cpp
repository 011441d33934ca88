// The table of runs.
#include "app/tools/runs_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/app/report/run/made_run.h"

namespace steelyard::runs_command_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

ListedRun made(const std::string& path, const std::string& result, bool training = false,
               bool has_checkpoint = false) {
  MadeRun run;
  run.process(0);
  ReportedRun it = reported(run);
  it.path = path;
  it.life.training = training;
  it.record = run.record(result);
  return {it, has_checkpoint};
}

TEST(RunsTable, NamesTimeModelPolicyAndResult) {
  const std::string table =
      runs_table({made("runs/a", R"({"outcome":"finished","accuracy":0.884,"seconds":83.2})"),
                  made("runs/long-name", "", true)});
  EXPECT_THAT(table, ContainsRegex("run +began .UTC. +model +policy +time +result\n"));
  EXPECT_THAT(table,
              ContainsRegex(
                  "runs/a +2026-05-04 07:08 +a model on some data +equal +1:23 +finished, accuracy 88.40 %"));
  EXPECT_THAT(table, ContainsRegex("runs/long-name +2026-05-04 07:08 .* - +waiting\n"));
  EXPECT_THAT(table, Not(HasSubstr("--resume"))) << "neither can be resumed";
}

TEST(RunsTable, AStoppedRunWithACheckpointCanBeResumed) {
  const std::string command = "steelyard train runs/a/job.toml --run-dir runs/a --resume";
  const std::vector<ListedRun> runs{made("runs/a", "", false, true), made("runs/b", "")};
  EXPECT_THAT(runs_table(runs), testing::ContainsRegex("runs/a .* interrupted\n  " + command +
                                                       "\nruns/b .*, no checkpoint\n$"));
  EXPECT_EQ(parse_json(runs_json(runs))["runs"][0]["resume"], command);
}

TEST(RunsTable, ARunThatAStandbyContinuesIsNotResumed) {
  ListedRun run = made("runs/a", "", false, true);
  run.run.life.continued = true;
  EXPECT_THAT(runs_table({run}), ContainsRegex("runs/a .* interrupted, continued by a standby\n$"));
  const Json json = parse_json(runs_json({run}))["runs"][0];
  EXPECT_EQ(json["reason"], "continued by a standby");
  EXPECT_EQ(json["resume"], nullptr);
}

TEST(RunsTable, TheJsonHasNullForWhatIsUnknown) {
  const Json json = parse_json(runs_json({made("runs/a", "")}));
  EXPECT_EQ(json["runs"][0]["run"], "runs/a");
  EXPECT_EQ(json["runs"][0]["state"], "interrupted");
  EXPECT_EQ(json["runs"][0]["began"], "2026-05-04T07:08:09Z");
  EXPECT_EQ(json["runs"][0]["accuracy"], nullptr);
  EXPECT_EQ(json["runs"][0]["resume"], nullptr) << "it has no checkpoint";
}

}  // namespace
}  // namespace steelyard::runs_command_test
