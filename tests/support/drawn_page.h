// Renders pages in a headless browser, with a script that reports the result.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/process_run.h"

namespace steelyard {

// Skips itself where there is no browser.
class DrawnPage : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (!std::filesystem::exists(browser)) GTEST_SKIP() << browser << " is not installed (script/setup)";
  }

  // What `probe`, a script, writes into a <pre id="probe"> as JSON.
  nlohmann::json drawn(std::string page, int width, bool dark, const std::string& probe = usual_probe) {
    page.insert(
        page.find("<meta"),
        "<script>const troubles = []; addEventListener('error', e => troubles.push(e.message))</script>");
    page.insert(page.rfind("</body>"), probe);
    const std::string file = write("page.html", page);
    const std::string dom = dom_of("file://" + file, width, dark), begin = "<pre id=\"probe\">";
    const std::size_t from = dom.find(begin);
    if (from == std::string::npos) return {{"troubles", {"nothing was drawn: " + dom.substr(0, 2000)}}};
    const std::size_t at = from + begin.size();
    return nlohmann::json::parse(dom.substr(at, dom.find("</pre>", at) - at));
  }

  // Returns the page at this address after `ms` of its virtual time.
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
    const all = kind => [...document.querySelectorAll(kind)];
    const key = (frame, key) => frame?.dispatchEvent(new KeyboardEvent("keydown", {key}));
    const plot = document.querySelector(".is-chart .frame"), lanes = document.querySelector(".lanes");
    const labelled = ".dygraph-axis-label-x, .along span";
    const textsIn = it => [...(it?.querySelectorAll(labelled) ?? [])].map(of => of.textContent).join();
    const edges = () => [plot, lanes].map(textsIn);
    const found = {width: innerWidth, dark: matchMedia("(prefers-color-scheme: dark)").matches,
                   paper: getComputedStyle(document.body).backgroundColor,
                   wide: document.documentElement.scrollWidth > innerWidth,
                   plots: all(".is-chart .frame").length, before: edges(),
                   drawn: +document.documentElement.dataset.drawn};
    for (const it of [plot, lanes]) { key(it, "ArrowRight"); key(it, "ArrowRight"); }
    found.plot = plot?.querySelector(".legend").innerText;
    found.lanes = document.querySelector(".readout")?.innerText;
    for (const it of [plot, lanes]) key(it, "+");
    found.after = edges();
    const slider = document.querySelector("input[type=range]");
    if (slider) { slider.value = 60; slider.dispatchEvent(new Event("input")); }
    found.slid = document.querySelector("output")?.textContent;
    const kept = it => it.closest(".wide, pre, .plot, .names, details:not([open])");
    found.beyond = all("body *").filter(it => !kept(it) && it.getBoundingClientRect().right > innerWidth + 1)
                                .map(it => it.outerHTML.slice(0, 80));
    const pixels = it => it.getContext("2d").getImageData(0, 0, it.width, it.height).data;
    const inked = it => pixels(it).some(value => value > 0);
    found.empty = all(".plot").filter(it => ![...it.querySelectorAll("canvas")].some(inked)).length +
                  all(".view canvas").filter(it => !inked(it)).length;
    const labels = all(".along").map(it => [...it.children].map(of => of.getBoundingClientRect()));
    found.overlap = labels.some(boxes => boxes.some((box, i) => i > 0 && box.left < boxes[i - 1].right));
    found.troubles = troubles;
    const out = document.createElement("pre");
    out.id = "probe";
    out.textContent = JSON.stringify(found);
    document.body.append(out);
  </script>)js";
  // clang-format on
};

}  // namespace steelyard
