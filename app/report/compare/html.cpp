#include "app/report/compare/html.h"

#include <algorithm>

#include "app/report/compare/chart.h"
#include "app/report/compare/comparison_table.h"
#include "app/report/compare/summary.h"
#include "app/report/page/page.h"

namespace steelyard {
namespace {

constexpr const char* reading_help = R"(<h2>How to read it</h2>
<p class="soft">Seconds are seconds of training, without evaluations; with several runs of a method it is
their median, and behind &plusmn; half of their range. Curves are of one run of each method, all of the same
seed. Percent of ideal: how fast the rounds were, measured by the best division of every round among the same
workers; where workers do not wait for each other, real runs have no such number. Gain: how many times as fast
as equal shares under BSP, and as the best worker alone, repeat by repeat, then the median and half of the
range; above 1 is faster. With a target the soonest there is first. Without one the fastest is, but a method
that ends more than a point below the most accurate comes after all others.</p>
)";

std::string table(const Comparison& comparison, const std::vector<Row>& ranking) {
  std::vector<std::vector<std::string>> rows;
  for (const Row& row : ranking) {
    if (row.good + row.failed > 0) rows.push_back(cells(comparison, row));
  }
  const std::vector<std::size_t> columns = used_columns(rows);
  std::vector<std::string> titles = column_titles(comparison);
  for (std::string& title : titles) {  // here a line is as long as it likes
    if (const std::size_t cut = title.find("-\n"); cut != std::string::npos) title.erase(cut, 2);
    std::ranges::replace(title, '\n', ' ');
  }
  rows.insert(rows.begin(), titles);
  for (std::vector<std::string>& row : rows) {
    std::vector<std::string> used;
    for (const std::size_t i : columns) used.push_back(row[i]);
    row = used;
  }
  return html_table(rows);
}

// Of which runs the curves are, where there are several.
std::string seed_text(const Comparison& comparison) {
  if (comparison.repeats < 2) return "";
  return ", runs with seed " + std::to_string(comparison.seed + drawn_repeat(comparison).value_or(0));
}

std::string section(const Comparison& comparison) {
  const std::vector<Row> ranking = ranked(summarise(comparison), comparison.target > 0);
  std::string text = "<section>\n<h1>" + escaped(comparison.name) + "</h1>\n<p class=\"soft\">" +
                     escaped(headline(comparison)) + "</p>\n";
  const std::string verdict = verdict_line(comparison, ranking);
  if (!verdict.empty()) text += "<p>" + escaped(verdict) + ".</p>\n";
  if (const std::string chart = accuracy_chart(comparison); !chart.empty()) {
    text += "<h2>Accuracy against time" + seed_text(comparison) + "</h2>\n" + chart;
  }
  if (const std::string chart = ideal_chart(comparison, ranking); !chart.empty()) {
    text += "<h2>Percent of ideal</h2>\n" + chart;
  }
  text += "<h2>All numbers</h2>\n" + table(comparison, ranking);
  for (const Row& row : ranking) {
    if (row.failed > 0)
      text += "<p>" + escaped(label(row.contender)) + " failed: " + escaped(row.failure) + "</p>\n";
  }
  return text + "</section>\n";
}

}  // namespace

std::string comparison_html(const std::vector<Comparison>& comparisons) {
  std::string body;
  for (const Comparison& comparison : comparisons) body += section(comparison);
  return page("steelyard compare", body + reading_help);
}

}  // namespace steelyard
