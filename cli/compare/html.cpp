#include "cli/compare/html.h"

#include "cli/compare/chart.h"
#include "cli/compare/summary.h"
#include "cli/compare/table.h"

namespace steelyard {
namespace {

constexpr const char* head = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>steelyard compare</title>
<style>
:root { --ink: #22262b; --soft: #69727d; --line: #d9dee4; --paper: #ffffff; --mark: #b3261e;
        color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --soft: #9aa4af; --line: #343b44; --paper: #16191d; --mark: #f2887f; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
       margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.35rem; margin: 2.2rem 0 .2rem; } h2 { font-size: 1rem; margin: 1.8rem 0 .4rem; }
p { margin: .3rem 0; max-width: 46rem; } .soft { color: var(--soft); }
svg { width: 100%; height: auto; font-size: 12px; } svg text { fill: var(--soft); }
.grid { stroke: var(--line); } .axis { stroke: var(--soft); }
.mark { stroke: var(--mark); stroke-dasharray: 5 4; }
.curve polyline { fill: none; stroke: var(--c); stroke-width: 2.2; stroke-linejoin: round; }
.curve circle { fill: var(--c); } .curve.alone polyline { stroke-dasharray: 2 4; }
.curve.faint { opacity: .25; } .curve.faint circle { display: none; }
.bar { fill: var(--c); } .range { stroke: var(--ink); stroke-width: 1.4; }
.m0 { --c: #7a828c; } .m1 { --c: #0072b2; } .m2 { --c: #e69f00; } .m3 { --c: #009e73; } .m4 { --c: #cc79a7; }
.m5 { --c: #56b4e9; } .m6 { --c: #d55e00; } .m7 { --c: #9467bd; } .m8 { --c: #a6761d; } .m9 { --c: #1b9e9e; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; padding: 0; list-style: none; font-size: 13px; }
.legend li::before { content: ""; display: inline-block; width: 1rem; height: 3px; margin-right: .4rem;
                     vertical-align: middle; background: var(--c); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; width: 100%; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap;
         border-bottom: 1px solid var(--line); }
th { font-weight: 600; vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
</style>
</head>
<body>
)";

constexpr const char* reading = R"(<h2>How to read it</h2>
<p class="soft">Seconds are seconds of training, without evaluations; with several runs of a method it is
their median, and behind &plusmn; half of their range. Percent of ideal: how fast the rounds were, measured by
the best division of every round among the same workers; where workers do not wait for each other, real runs
have no such number. Gain: how many times as fast as equal shares under BSP, and as the best worker alone,
repeat by repeat, then the median and half of the range; above 1 is faster.</p>
)";

std::string legend(const Comparison& comparison) {
  std::string text = "<ul class=\"legend\">";
  for (std::size_t i = 0; i < comparison.entries.size(); ++i) {
    text +=
        "<li class=\"" + method_class(i) + "\">" + escaped(label(comparison.entries[i].entrant)) + "</li>";
  }
  return text + "</ul>\n";
}

std::string table(const Comparison& comparison, const std::vector<Row>& ranking) {
  std::string text = "<div class=\"wide\"><table>\n<tr>";
  for (const std::string& title : column_titles(comparison)) text += "<th>" + escaped(title) + "</th>";
  text += "</tr>\n";
  for (const Row& row : ranking) {
    if (row.good + row.failed == 0) continue;
    text += "<tr>";
    for (const std::string& cell : cells(comparison, row)) text += "<td>" + escaped(cell) + "</td>";
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string section(const Comparison& comparison) {
  const std::vector<Row> ranking = ranked(summarise(comparison), comparison.target > 0);
  std::string text = "<h1>" + escaped(comparison.name) + "</h1>\n<p class=\"soft\">" +
                     escaped(headline(comparison)) + "</p>\n";
  const std::string verdict = verdict_line(comparison, ranking);
  if (!verdict.empty()) text += "<p>" + escaped(verdict) + ".</p>\n";
  if (const std::string chart = accuracy_chart(comparison); !chart.empty()) {
    text += "<h2>Accuracy against time</h2>\n" + chart + legend(comparison);
  }
  if (const std::string chart = ideal_chart(comparison, ranking); !chart.empty()) {
    text += "<h2>Percent of ideal</h2>\n" + chart;
  }
  text += "<h2>All numbers</h2>\n" + table(comparison, ranking);
  for (const Row& row : ranking) {
    if (row.failed > 0)
      text += "<p>" + escaped(label(row.entrant)) + " failed: " + escaped(row.failure) + "</p>\n";
  }
  return text;
}

}  // namespace

std::string comparison_html(const std::vector<Comparison>& comparisons) {
  std::string text = head;
  for (const Comparison& comparison : comparisons) text += section(comparison);
  return text + reading + "</body>\n</html>\n";
}

}  // namespace steelyard
