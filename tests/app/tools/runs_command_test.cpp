// The table of runs.
#include "app/tools/runs_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/json.h"
#include "tests/app/report/run/made_run.h"

namespace steelyard::runs_command_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* job = "[model]\nname = \"softmax\"\n[data]\nname = \"synthetic\"\n";

ReportedRun made(const std::string& path, const std::string& state, const std::string& result) {
  MadeRun run;
  run.process(0);
  ReportedRun it = reported_run(path, job, run.record(result));
  it.state = state;
  return it;
}

TEST(RunsTable, NamesTimeModelPolicyAndResult) {
  const std::string table =
      runs_table({made("runs/a", "finished", R"({"outcome":"finished","accuracy":0.884,"seconds":83.2})"),
                  made("runs/long-name", "running", "")});
  EXPECT_THAT(table, ContainsRegex("run +began .UTC. +model +policy +time +result\n"));
  EXPECT_THAT(
      table,
      ContainsRegex(
          "runs/a +2026-05-04 07:08 +softmax on synthetic +steelyard +1:23 +finished, accuracy 88.40 %"));
  EXPECT_THAT(table, ContainsRegex("runs/long-name +2026-05-04 07:08 .* - +running\n"));
  EXPECT_THAT(table, Not(HasSubstr("--resume"))) << "neither can be resumed";
}

TEST(RunsTable, AStoppedRunWithACheckpointCanBeResumed) {
  const std::filesystem::path folder = testing::TempDir() + "/runs_table";
  std::filesystem::create_directories(folder / "checkpoints/5");
  std::ofstream(folder / "checkpoints/5/MANIFEST.json") << "{}";
  const std::vector<ReportedRun> runs{made(folder, "stopped", "")};
  const std::string command =
      "steelyard train " + folder.string() + "/job.toml --run-dir " + folder.string() + " --resume";
  EXPECT_THAT(runs_table(runs), HasSubstr("\n  " + command + "\n"));
  const Json json = parse_json(runs_json(runs));
  EXPECT_EQ(json["runs"][0]["resume"], command);
  EXPECT_EQ(json["runs"][0]["accuracy"], nullptr);
  EXPECT_EQ(json["runs"][0]["began"], "2026-05-04T07:08:09Z");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace steelyard::runs_command_test
