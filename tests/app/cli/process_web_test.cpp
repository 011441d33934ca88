// `train --web` with a browser, a monitor and `steelyard status` as its readers.
#include <gmock/gmock.h>

#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "app/report/live/live_run.h"
#include "app/report/page/page.h"
#include "app/web/http_server.h"
#include "app/web/place.h"
#include "tests/app/report/run/made_run.h"
#include "tests/support/drawn_page.h"
#include "tests/support/exposition.h"
#include "tests/support/process_run.h"

namespace steelyard::process_web_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> watched_by(std::vector<std::string> train) {
  train.insert(train.end(), {"--set", "train.epochs=1000000", "--web", ":0", "--quiet"});
  return train;
}

// The address is printed even with --quiet.
std::string place_of(const Process& job) {
  std::string place;
  EXPECT_TRUE(eventually([&] {
    const std::string output = job.output(), before = "watched at http://";
    const std::size_t from = output.find(before), end = output.find("/\n", from);
    if (from == std::string::npos || end == std::string::npos) return false;
    place = output.substr(from + before.size(), end - from - before.size());
    return true;
  })) << job.output();
  return place;
}

class ProcessWeb : public ProcessTest {
 protected:
  std::vector<std::string> watched(const std::string& name) { return watched_by(train(name)); }
  static std::string page_of(const std::string& place, const std::string& path) {
    return http_get(asked_place(place), path);
  }
};

TEST_F(ProcessWeb, ServesARunToBrowsersAndMonitors) {
  Process job(path("job.log"), watched("run"));
  const std::string place = place_of(job);
  ASSERT_TRUE(eventually([&] { return page_of(place, "/").find("samples/s") != std::string::npos; }));
  EXPECT_TRUE(eventually([&] {
    return run({"status", place}) == 0 && said_.find("bob") != std::string::npos;
  }));
  EXPECT_THAT(said_,
              AllOf(HasSubstr("run: running, epoch"), HasSubstr("of 1000000"), HasSubstr("samples/s")));
  const std::string begins = said_.substr(0, said_.find(','));
  ASSERT_EQ(run({"status", path("run")}), 0);
  EXPECT_THAT(said_, HasSubstr(begins)) << "the run directory gives the same lines";
  const std::string metrics = page_of(place, "/metrics");
  EXPECT_EQ(exposition_troubles(metrics), "");
  EXPECT_THAT(metrics, AllOf(HasSubstr("{worker=\"ada\"}"), HasSubstr("job=\"small\"")));
  job.signal(SIGINT);
  ends_clean(job, 75);
  EXPECT_EQ(run({"status", place}), 69);
  EXPECT_THAT(said_, AllOf(HasSubstr(place + " does not answer"), HasSubstr("--web")));
}

TEST_F(ProcessWeb, MetricsPassThePromtoolCheck) {
  const std::string promtool = "/usr/bin/promtool";
  if (!std::filesystem::exists(promtool))
    GTEST_SKIP() << promtool << " is not installed (Debian: prometheus)";
  Process job(path("job.log"), watched("run"));
  const std::string place = place_of(job);
  ASSERT_TRUE(eventually([&] { return page_of(place, "/metrics").find("worker_") != std::string::npos; }));
  const std::string metrics = write("metrics.txt", page_of(place, "/metrics"));
  Process check(
      path("promtool.log"), {"check", "metrics"},
      [&] { EXPECT_NE(freopen(metrics.c_str(), "r", stdin), nullptr); }, promtool);
  EXPECT_EQ(check.code(), 0);
  EXPECT_EQ(check.output(), "") << "promtool gives no advice either";
}

TEST_F(ProcessWeb, WrongAddressesAreReported) {
  Process job(path("job.log"), watched("run"));
  const std::string place = place_of(job);
  std::vector<std::string> again = train("again");
  again.insert(again.end(), {"--web", place});
  EXPECT_EQ(run(again), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("--web " + place), HasSubstr("in use"), HasSubstr("another port")));
  EXPECT_FALSE(std::filesystem::exists(path("again"))) << "no run directory is left behind";
  again.back() = "*:7080";
  EXPECT_EQ(run(again), 2);
  EXPECT_THAT(said_, AllOf(HasSubstr("other machines needs an explicit address"), HasSubstr("0.0.0.0:7080")));
  again.back() = "here";
  EXPECT_EQ(run(again), 2);
  EXPECT_THAT(said_, HasSubstr("HOST:PORT"));
}

// The page of a resumed run includes the part before.
TEST_F(ProcessWeb, AResumedRunShowsItsEarlierPart) {
  ASSERT_EQ(run(train("run", {"train.epochs=1"})), 0);
  std::vector<std::string> words = watched("run");
  words.push_back("--resume");
  Process job(path("job.log"), words);
  const std::string place = place_of(job);
  EXPECT_TRUE(eventually([&] {
    const std::string page = page_of(place, "/part");
    return page.find("the run was resumed") != std::string::npos;
  }));
  EXPECT_THAT(page_of(place, "/status"), HasSubstr("of 1000000"));
}

// On a full disk training continues, and the page shows it.
TEST_F(ProcessWeb, AFullDiskStopsNeitherTrainingNorThePage) {
  const std::vector<std::string> words = watched("run");
  Process job(path("job.log"), words, [] {
    // Files are limited to 64 KB, which rounds.jsonl soon reaches.
    const rlimit limit{64 << 10, 64 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
  });
  const std::string place = place_of(job);
  const auto rounds = [&] {
    const std::string text = page_of(place, "/metrics"), count = "\nsteelyard_round ";
    const std::size_t at = text.find(count);
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + count.size()));
  };
  ASSERT_TRUE(eventually([&] { return std::filesystem::file_size(path("run/rounds.jsonl")) == 64 << 10; }));
  const auto before = rounds();
  EXPECT_TRUE(eventually([&] { return rounds() > before + 50; }));
}

using DrawnLive = DrawnPage;

// Its scripts may run only as files of their own.
TEST_F(DrawnLive, OfARunningJobUpdatesItself) {
  Process job(path("job.log"), watched_by(train("run")));
  const std::string place = place_of(job);
  for (const int width : {500, 1280}) {
    const std::string dom = dom_of("http://" + place + "/", width, width == 500, 7000);
    EXPECT_THAT(dom, AllOf(HasSubstr("<b class=\"running\">running"), HasSubstr("pause updates"),
                           HasSubstr("last round "), HasSubstr("<canvas"), HasSubstr("Round by round")));
  }
}

// A page whose server answers twice with `part`, then with `last`, and is gone then.
std::string with_server(std::string page, const std::string& part, const std::string& last) {
  const std::size_t from = page.find("<script src");
  page.erase(from, page.find("</head>") - from);
  std::string json;
  for (const char c : nlohmann::json({part, last}).dump()) json += c == '<' ? "\\u003c" : std::string(1, c);
  const std::string server = "let asked = 0; const answers = " + json + R"js(;
    window.fetch = async () => {
      if (++asked > 3) throw new Error("gone");
      return {ok: true, status: 200, text: async () => answers[asked > 2 ? 1 : 0], headers: {get: () => "x"}};
    };)js";
  page.insert(page.rfind("</body>"), "<script>" + server + "</script><script>\n" + std::string(chart_script) +
                                         "</script><script>" + page_script + "</script>");
  return page;
}

// clang-format off
constexpr const char* reader = R"js(<script>
    const all = kind => [...document.querySelectorAll(kind)];
    const key = (frame, key) => frame.dispatchEvent(new KeyboardEvent("keydown", {key}));
    const chart = id => document.querySelector(`#s0-${id} .frame`);
    const state = () => ({
      state: document.querySelector(".state").innerText, asked,
      zoom: [...chart("loss").querySelectorAll(".dygraph-axis-label-x")].map(it => it.textContent).join(),
      lanes: document.querySelector("output").textContent,
      open: all("details").map(it => it.open),
      focus: document.activeElement === chart("speed"),
      top: document.activeElement.getBoundingClientRect().top,
      said: document.querySelector("[role=status]").textContent,
      buttons: all(".live button").length, troubles});
    const found = {begun: document.querySelector("output").textContent};
    key(chart("loss"), "+");
    all("details")[1].open = true;
    chart("speed").focus();
    chart("speed").scrollIntoView();
    const slider = document.querySelector("input[type=range]");
    slider.value = 20;
    slider.dispatchEvent(new Event("input"));
    found.before = state();
    all(".live button")[0].click();
    setTimeout(() => {
      found.paused = state();
      all(".live button")[0].click();
    }, 7000);
    setTimeout(() => { found.after = state(); }, 10900);
    setTimeout(() => {
      found.end = state();
      const out = document.createElement("pre");
      out.id = "probe";
      out.textContent = JSON.stringify(found);
      document.body.append(out);
    }, 18000);
  </script>)js";
// clang-format on

// An update keeps the reader's zoom, rounds, open tables, focus and scroll position. The last state ends the
// updates.
TEST_F(DrawnLive, OfARunningJobKeepsTheReadersPlace) {
  LiveRun live("runs/made-1", "");
  MadeRun made = made_run();
  live.event_lines(made.events);
  live.round_lines(made.rounds, 1);
  const std::string before_more = live_page(live.document(2));
  const std::size_t known = made.rounds.size();
  for (int i = 0; i < 40; ++i) made.round({"eighth", "half", "quarter"}, {43, 171, 86}, {34, 34, 34}, 99);
  live.round_lines(made.rounds.substr(known), 3);
  const std::string part = live_part(live.document(4));
  live.ended(R"({"outcome": "finished", "accuracy": 0.884})");
  const nlohmann::json found =
      drawn(with_server(before_more, part, live_part(live.document(5))), 500, false, reader);
  ASSERT_TRUE(found.contains("end")) << found;
  const nlohmann::json &before = found["before"], &after = found["after"];
  EXPECT_EQ(found["begun"], "rounds 68 to 79: the last rounds");
  EXPECT_EQ(found["paused"]["asked"], 0) << "not while updates are paused";
  EXPECT_THAT(before["state"].get<std::string>(), AllOf(HasSubstr("running"), HasSubstr("round 80")));
  EXPECT_THAT(after["state"].get<std::string>(), AllOf(HasSubstr("running"), HasSubstr("round 120")));
  EXPECT_EQ(before["zoom"], after["zoom"]);
  EXPECT_EQ(before["lanes"], after["lanes"]);
  EXPECT_EQ(before["open"], after["open"]);
  EXPECT_EQ(after["focus"], true);
  EXPECT_NEAR(before["top"].get<double>(), after["top"].get<double>(), 2);
  EXPECT_THAT(found["end"]["state"].get<std::string>(), AllOf(HasSubstr("finished"), HasSubstr("88.40 %")));
  EXPECT_EQ(found["end"]["asked"], 3) << "the last state ends the updates";
  EXPECT_EQ(found["end"]["buttons"], 0);
  EXPECT_EQ(found["end"]["troubles"], nlohmann::json::array());
}

}  // namespace
}  // namespace steelyard::process_web_test
