// Renders pages in a headless browser, with a script that inspects the result.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/process_run.h"

namespace steelyard {

// Skipped if no browser is installed.
class DrawnPage : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (!std::filesystem::exists(browser)) GTEST_SKIP() << browser << " is not installed (script/setup)";
  }

  // Renders the page with the script `probe`; returns the JSON that it writes into <pre id="probe">.
  nlohmann::json drawn(std::string page, int width, bool dark, const std::string& probe = usual_probe) {
    page.insert(
        page.find("<meta"),
        "<script>const troubles = []; addEventListener('error', e => troubles.push(e.message))</script>");
    page.insert(page.rfind("</body>"), probe);
    const std::string file = write("page.html", page);
    const std::string dom = dom_of("file://" + file, width, dark), begin = "<pre id=\"probe\">";
    const std::size_t from = dom.find(begin);
    if (from == std::string::npos) return {{"troubles", {"nothing was rendered: " + dom.substr(0, 2000)}}};
    const std::size_t at = from + begin.size();
    return nlohmann::json::parse(dom.substr(at, dom.find("</pre>", at) - at));
  }

  // The DOM of the page at `url` after `ms` of virtual time.
  std::string dom_of(const std::string& url, int width, bool dark, int ms = 20'000) {
    Process browsing(path("browser.log"),
                     {"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                      "--user-data-dir=" + path("profile"), "--window-size=" + std::to_string(width) + ",900",
                      std::string("--blink-settings=preferredColorScheme=") + (dark ? "0" : "1"),
                      "--virtual-time-budget=" + std::to_string(ms), "--dump-dom", url},
                     {}, browser);
    EXPECT_EQ(browsing.code(), 0) << browsing.output();
    return browsing.output();
  }

  static constexpr const char* browser = "/usr/bin/chromium";
  // clang-format off
  static constexpr const char* usual_probe = R"js(<script>
    const key = (frame, key) => frame?.dispatchEvent(new KeyboardEvent("keydown", {key}));
    const tips = kind => {
      const frame = document.querySelector(kind);
      key(frame, "ArrowRight");
      key(frame, "ArrowRight");
      return frame?.querySelector(".tip")?.innerText ?? "";
    };
    const view = kind => document.querySelector(kind)?.querySelector("svg").getAttribute("viewBox");
    const all = kind => [...document.querySelectorAll(kind)];
    const found = {width: innerWidth, dark: matchMedia("(prefers-color-scheme: dark)").matches,
                   paper: getComputedStyle(document.body).backgroundColor,
                   wide: document.documentElement.scrollWidth > innerWidth,
                   plot: tips(".plot"), lanes: tips(".lanes"), plots: all(".plot").length,
                   controls: all(".controls:not([hidden])").length, before: [view(".plot"), view(".lanes")]};
    for (const kind of [".plot", ".lanes"]) key(document.querySelector(kind), "+");
    found.after = [view(".plot"), view(".lanes")];
    const slider = document.querySelector(".controls input");
    if (slider) { slider.value = 60; slider.dispatchEvent(new Event("input")); }
    found.slid = view(".lanes");
    const kept = it => it.closest(".wide, pre, svg, .tip, details:not([open])");
    found.beyond = all("body *").filter(it => !kept(it) && it.getBoundingClientRect().right > innerWidth + 1)
                                .map(it => it.outerHTML.slice(0, 80));
    found.lines = all(".plot").map(it => Math.max(...[...it.querySelectorAll("path.line")].map(
                                                   line => line.getBoundingClientRect().width)));
    found.heights = all(".plot svg, .lanes svg").map(it => it.getBoundingClientRect().height);
    found.troubles = troubles;
    const out = document.createElement("pre");
    out.id = "probe";
    out.textContent = JSON.stringify(found);
    document.body.append(out);
  </script>)js";
  // clang-format on
};

}  // namespace steelyard
