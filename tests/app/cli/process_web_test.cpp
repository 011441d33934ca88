// `train --web` with a browser, a monitor and `steelyard status` as clients.
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
  ASSERT_TRUE(eventually([&] { return page_of(place, "/").find("samples a second") != std::string::npos; }));
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

// The page may load scripts only from separate files.
TEST_F(DrawnLive, ThePageOfARunningJobUpdatesAutomatically) {
  Process job(path("job.log"), watched_by(train("run")));
  const std::string place = place_of(job);
  for (const int width : {500, 1280}) {
    const std::string dom = dom_of("http://" + place + "/", width, width == 500, 7000);
    EXPECT_THAT(dom, AllOf(HasSubstr("<p class=\"live\"><b>live"), HasSubstr("as of "),
                           HasSubstr("running, epoch"), HasSubstr("Round by round")));
  }
}

// A page with a fake server that answers twice with the same part and then fails.
std::string with_server(std::string page, const std::string& part) {
  const std::size_t from = page.find("<script src");
  page.erase(from, page.find("</head>") - from);
  std::string json;
  for (const char c : nlohmann::json(part).dump()) json += c == '<' ? "\\u003c" : std::string(1, c);
  const std::string server = "let asked = 0; const part = " + json + R"js(;
    window.fetch = async () => {
      if (++asked > 2) throw new Error("gone");
      return {ok: true, status: 200, text: async () => part, headers: {get: () => "x"}};
    };)js";
  page.insert(page.rfind("</body>"), "<script>\n" + std::string(page_script) + "</script><script>" + server +
                                         "</script><script>" + live_script + "</script>");
  return page;
}

// clang-format off
constexpr const char* reader = R"js(<script>
    const all = kind => [...document.querySelectorAll(kind)];
    const key = (frame, key) => frame.dispatchEvent(new KeyboardEvent("keydown", {key}));
    const state = () => ({
      round: document.querySelector(".stands").textContent, asked,
      zoom: document.querySelector(".plot svg").getAttribute("viewBox").split(" ").map(Number),
      seconds: +document.querySelector(".plot").dataset.to,
      lanes: document.querySelector(".controls input").getAttribute("aria-valuetext"),
      open: all("details").map(it => it.open), focus: all(".plot").indexOf(document.activeElement),
      top: document.activeElement.getBoundingClientRect().top,
      said: document.querySelector("[role=status]").textContent,
      lost: document.querySelector(".live").classList.contains("lost"), troubles});
    const found = {begun: state().lanes};
    key(document.querySelector(".plot"), "+");
    all("details")[1].open = true;
    all(".plot")[2].focus();
    all(".plot")[2].scrollIntoView();
    document.querySelector(".controls input").value = 20;
    document.querySelector(".controls input").dispatchEvent(new Event("input"));
    found.before = state();
    key(document.querySelector(".plot"), "ArrowRight");  // values are shown: the page waits
    setTimeout(() => {
      found.waiting = state();
      key(document.querySelector(".plot"), "Escape");
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

// Updates keep zoom, open sections, focus and scroll position.
TEST_F(DrawnLive, UpdatesKeepTheReadersPlace) {
  LiveRun live("runs/made-1", "");
  MadeRun made = made_run();
  live.event_lines(made.events);
  live.round_lines(made.rounds, 0);
  const std::string page = live.page();
  const std::size_t before_more = made.rounds.size();
  for (int i = 0; i < 40; ++i) made.round({"eighth", "half", "quarter"}, {43, 171, 86}, {34, 34, 34}, 99);
  live.round_lines(made.rounds.substr(before_more), 0);
  const nlohmann::json found = drawn(with_server(page, live.part()), 500, false, reader);
  ASSERT_TRUE(found.contains("end")) << found;
  const nlohmann::json &before = found["before"], &after = found["after"];
  EXPECT_EQ(found["begun"], "rounds 68 to 79") << "the latest rounds";
  EXPECT_EQ(found["waiting"]["asked"], 0) << "no update while values are shown";
  EXPECT_THAT(before["round"].get<std::string>(), HasSubstr("round 80"));
  EXPECT_THAT(after["round"].get<std::string>(), HasSubstr("round 120"));
  EXPECT_NE(before["seconds"], after["seconds"]);
  for (const int end : {0, 2}) {  // left edge and width, in seconds
    const double scale = 1000,
                 was = before["zoom"][end].get<double>() / scale * before["seconds"].get<double>();
    EXPECT_NEAR(after["zoom"][end].get<double>() / scale * after["seconds"].get<double>(), was, 1e-3);
  }
  EXPECT_EQ(before["lanes"], after["lanes"]);
  EXPECT_EQ(before["open"], after["open"]);
  EXPECT_EQ(after["focus"], 2);
  EXPECT_NEAR(before["top"].get<double>(), after["top"].get<double>(), 2);
  EXPECT_FALSE(after["lost"]);
  EXPECT_TRUE(found["end"]["lost"]);
  EXPECT_THAT(found["end"]["said"].get<std::string>(), HasSubstr("does not answer any more"));
  EXPECT_EQ(found["end"]["troubles"], nlohmann::json::array());
}

}  // namespace
}  // namespace steelyard::process_web_test
