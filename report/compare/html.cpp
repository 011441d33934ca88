#include "report/compare/html.h"

#include <algorithm>

#include "report/compare/chart.h"
#include "report/compare/summary.h"
#include "report/compare/table.h"

namespace steelyard {
namespace {

constexpr const char* head = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>steelyard compare</title>
<style>
:root { --ink: #22262b; --soft: #5b646e; --line: #d9dee4; --paper: #ffffff; --mark: #b3261e; --l: .58;
        color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --soft: #a4adb8; --line: #343b44; --paper: #16191d; --mark: #f2887f; --l: .72; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
       margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.35rem; margin: 2.2rem 0 .2rem; } h2 { font-size: 1rem; margin: 1.8rem 0 .4rem; }
p { margin: .3rem 0; max-width: 46rem; } .soft { color: var(--soft); }
h1, p, li { overflow-wrap: anywhere; }
/* A method's colour is made of what its style attribute says (report/compare/colour.h). */
.method { --c: oklch(calc(var(--l) + var(--d)) var(--k) var(--h)); }
.mark { --c: var(--mark); --dash: 5 4; }
.plot { display: grid; grid-template: 19rem 1.5rem auto / 3.4rem 1fr; margin: .9rem 1.2rem 0 0; }
.plot svg { width: 100%; height: 100%; overflow: visible; border-bottom: 1px solid var(--soft); }
.plot .along, .plot .axis { grid-column: 2; } .plot .axis { text-align: right; max-width: none; }
.up, .along, .axis { color: var(--soft); font-size: 13px; } .up, .along { position: relative; }
.up span { position: absolute; right: .6rem; transform: translateY(-50%); white-space: nowrap; }
.along span { position: absolute; top: .2rem; transform: translateX(-50%); white-space: nowrap; }
svg path { fill: none; vector-effect: non-scaling-stroke; }
.grid { stroke: var(--line); } .line { stroke: var(--c); stroke-width: 2.2; stroke-dasharray: var(--dash); }
.line { stroke-linejoin: round; } .dot { stroke: var(--c); stroke-width: 6.5; stroke-linecap: round; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; list-style: none; font-size: 14px; }
.swatch { width: 30px; height: 6px; margin-right: .4rem; vertical-align: middle; }
.bars { display: grid; grid-template-columns: fit-content(14rem) 1fr auto; gap: .35rem .7rem; font-size: 14px;
        align-items: center; }
.bars .name { overflow-wrap: anywhere; } .bars .value { text-align: right; }
.bars .along { height: 1.4rem; }
.track { position: relative; height: 1.1rem; background: color-mix(in srgb, var(--line) 45%, transparent); }
.track i { position: absolute; } .bar { inset: 0 auto 0 0; background: var(--c); border-radius: 0 2px 2px 0; }
.range { top: 50%; height: 2px; margin-top: -1px; background: var(--ink); }
.full { top: -.2rem; bottom: -.2rem; border-left: 1px dashed var(--mark); }
/* A shadow at the right edge while there is more of the table behind it. */
.wide { overflow-x: auto; background-repeat: no-repeat; background-position: right;
        background-image: linear-gradient(to left, var(--paper), transparent),
                          linear-gradient(to left, var(--line), transparent);
        background-size: 2rem 100%, 1rem 100%; background-attachment: local, scroll; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; width: 100%; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap;
         border-bottom: 1px solid var(--line); }
th { font-weight: 600; vertical-align: bottom; white-space: normal; text-wrap: balance; }
th:first-child, td:first-child { text-align: left; padding-left: 0; position: sticky; left: 0;
                                 background: var(--paper); }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 6.5rem; max-width: 15rem; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; padding: 0 .8rem; } th, td { padding: .25rem .45rem; }
  .plot { grid-template-rows: 15rem 1.5rem auto; } .bars { grid-template-columns: fit-content(40%) 1fr auto; }
}
</style>
</head>
<body>
)";

constexpr const char* reading = R"(<h2>How to read it</h2>
<p class="soft">Seconds are seconds of training, without evaluations; with several runs of a method it is
their median, and behind &plusmn; half of their range. Curves are of one run of each method, all of the same
seed. Percent of ideal: how fast the rounds were, measured by the best division of every round among the same
workers; where workers do not wait for each other, real runs have no such number. Gain: how many times as fast
as equal shares under BSP, and as the best worker alone, repeat by repeat, then the median and half of the
range; above 1 is faster. With a target the soonest there is first. Without one the fastest is, but who ends
more than a point below the most accurate comes after all who do not. A method has the same colour on every
page.</p>
)";

std::string table(const Comparison& comparison, const std::vector<Row>& ranking) {
  std::vector<std::vector<std::string>> rows;
  for (const Row& row : ranking) {
    if (row.good + row.failed > 0) rows.push_back(cells(comparison, row));
  }
  const std::vector<std::size_t> columns = used_columns(rows);
  const auto line = [&](const std::vector<std::string>& texts, const std::string& kind) {
    std::string text = "<tr>";
    for (const std::size_t i : columns) text += "<" + kind + ">" + escaped(texts[i]) + "</" + kind + ">";
    return text + "</tr>\n";
  };
  std::vector<std::string> titles = column_titles(comparison);
  for (std::string& title : titles) std::ranges::replace(title, '\n', ' ');
  std::string text = "<div class=\"wide\"><table>\n" + line(titles, "th");
  for (const std::vector<std::string>& row : rows) text += line(row, "td");
  return text + "</table></div>\n";
}

// Of which runs the curves are, where there are several.
std::string seed_text(const Comparison& comparison) {
  if (comparison.repeats < 2) return "";
  return ", runs with seed " + std::to_string(comparison.seed + drawn_repeat(comparison).value_or(0));
}

std::string section(const Comparison& comparison) {
  const std::vector<Row> ranking = ranked(summarise(comparison), comparison.target > 0);
  std::string text = "<h1>" + escaped(comparison.name) + "</h1>\n<p class=\"soft\">" +
                     escaped(headline(comparison)) + "</p>\n";
  const std::string verdict = verdict_line(comparison, ranking);
  if (!verdict.empty()) text += "<p>" + escaped(verdict) + ".</p>\n";
  if (const std::string chart = accuracy_chart(comparison); !chart.empty()) {
    text += "<h2>Accuracy against time" + seed_text(comparison) + "</h2>\n" + chart;
  }
  if (const std::string chart = ideal_chart(ranking); !chart.empty()) {
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
