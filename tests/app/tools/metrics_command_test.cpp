// The numbers of all runs in a folder.
#include "app/tools/metrics_command.h"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "app/processes/run_journal.h"
#include "app/web/http_server.h"
#include "app/web/place.h"
#include "core/record_parts.h"
#include "tests/app/report/run/made_run.h"
#include "tests/support/exposition.h"
#include "tests/support/process_run.h"

namespace steelyard::metrics_command_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class FolderMetricsTest : public ProcessTest {
 protected:
  // A run directory without processes.
  void make_run(const std::string& name, const MadeRun& made, const std::string& result = "") {
    std::filesystem::create_directories(path("runs/" + name + "/checkpoints"));
    write("runs/" + name + "/job.toml",
          "[job]\nname = \"" + name.substr(0, name.find('-')) + "\"\n[[worker]]\nname = \"half\"\n");
    write("runs/" + name + "/rounds.jsonl", made.rounds);
    write("runs/" + name + "/events.jsonl", made.events);
    if (!result.empty()) write("runs/" + name + "/result.json", result);
  }
  std::string of(const std::string& metric, const std::string& name, const std::string& more = "") {
    return "steelyard_" + metric + "{job=\"" + name.substr(0, name.find('-')) + "\",run=\"" +
           path("runs/" + name) + "\"" + more + "} ";
  }
};

TEST_F(FolderMetricsTest, EveryRunHasItsLabels) {
  make_run("one-1", made_run(), R"({"outcome":"finished","accuracy":0.75})");
  make_run("two-1", MadeRun().note("worker 'a' joined"));
  FolderMetrics metrics(path("runs"), 24);
  const std::string text = metrics.text(seconds_now());
  EXPECT_EQ(exposition_troubles(text), "");
  EXPECT_THAT(text, AllOf(HasSubstr(of("round", "one-1") + "80\n"), HasSubstr(of("round", "two-1") + "0\n"),
                          HasSubstr(of("job_state", "one-1", ",state=\"finished\"") + "1\n"),
                          HasSubstr(of("job_state", "two-1", ",state=\"interrupted\"") + "1\n")));
}

TEST_F(FolderMetricsTest, ARunThatTrainsIsFollowed) {
  MadeRun made = made_run();
  make_run("one-1", made, R"({"outcome":"interrupted"})");
  FolderMetrics metrics(path("runs"), 24);
  EXPECT_THAT(metrics.text(seconds_now()),
              HasSubstr(of("job_state", "one-1", ",state=\"interrupted\"") + "1"));
  const RunLock trains(path("runs/one-1"));
  made.round({"half"}, {10}, {10});
  std::ofstream(path("runs/one-1/rounds.jsonl"), std::ios::app)
      << made.rounds.substr(made.rounds.rfind('\n', made.rounds.size() - 2) + 1) << R"({"round":81,"pur)";
  const std::string text = metrics.text(seconds_now());
  EXPECT_THAT(text, AllOf(HasSubstr(of("round", "one-1") + "81\n"),
                          HasSubstr(of("round_seconds_count", "one-1") + "81\n"),
                          HasSubstr(of("job_state", "one-1", ",state=\"running\"") + "1\n")))
      << "half a line is left for later, and the result is of an earlier process";
  write("runs/one-1/rounds.jsonl", MadeRun().round({"a"}, {1}, {1}).rounds);
  EXPECT_THAT(metrics.text(seconds_now()), HasSubstr(of("round_seconds_count", "one-1") + "1\n"))
      << "the scheduler recovered, and wrote the record again";
}

TEST_F(FolderMetricsTest, ARecordInPartsIsFollowed) {
  MadeRun made;
  for (int i = 0; i < 10; ++i) made.round({"half"}, {10}, {10});
  make_run("one-1", made);
  FolderMetrics metrics(path("runs"), 24);
  const auto rounds = [&](const std::string& count) {
    EXPECT_THAT(metrics.text(seconds_now()), HasSubstr(of("round_seconds_count", "one-1") + count + "\n"));
  };
  rounds("10");
  ASSERT_TRUE(close_part(path("runs/one-1/rounds.jsonl")));
  write("runs/one-1/rounds.jsonl", made.rounds);
  ASSERT_TRUE(close_part(path("runs/one-1/rounds.jsonl")));
  write("runs/one-1/rounds.jsonl", "");
  rounds("20");
  cut_parts(path("runs/one-1/rounds.jsonl"), 0, made.rounds.size());
  rounds("10");
}

TEST_F(FolderMetricsTest, RunsThatEndedLongAgoAreLeftOut) {
  make_run("one-1", made_run(), R"({"outcome":"finished"})");
  FolderMetrics metrics(path("runs"), 2);
  EXPECT_THAT(metrics.text(seconds_now() + 3600), HasSubstr("one-1"));
  EXPECT_EQ(metrics.text(seconds_now() + 3 * 3600), "");
  const RunLock trains(path("runs/one-1"));
  EXPECT_THAT(metrics.text(seconds_now() + 3 * 3600), HasSubstr("one-1")) << "it trains again";
  std::filesystem::remove_all(path("runs"));
  EXPECT_THROW(metrics.text(seconds_now()), std::exception);
}

TEST_F(FolderMetricsTest, TheAddressOutlivesTheJobs) {
  std::filesystem::create_directory(path("runs"));
  Process serving(path("metrics.log"), {"metrics", path("runs"), "--web", ":0"});
  ASSERT_TRUE(eventually([&] { return serving.output().find("/metrics\n") != std::string::npos; }));
  const std::string said = serving.output(), before = "are at ";
  std::string url = said.substr(said.find(before) + before.size());
  url = url.substr(0, url.find("/metrics"));
  const auto text = [&] { return http_get(asked_place(url), "/metrics"); };
  for (const char* name : {"runs/first", "runs/second"}) {
    ASSERT_EQ(run(train(name, {"train.epochs=1"})), 0) << said_;
    EXPECT_TRUE(eventually([&] {
      return text().find("run=\"" + path(name) + "\",state=\"finished\"} 1\n") != std::string::npos;
    })) << text();
  }
  EXPECT_THAT(text(), HasSubstr("run=\"" + path("runs/first") + "\",state=\"finished\"} 1\n"));
  EXPECT_EQ(exposition_troubles(text()), "");
  serving.signal(SIGTERM);
  EXPECT_EQ(serving.code(), 0) << serving.output();
  EXPECT_EQ(run({"metrics", path("nowhere")}), 74);
}

}  // namespace
}  // namespace steelyard::metrics_command_test
