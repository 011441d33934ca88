#include "app/report/compare/html.h"

#include <algorithm>

#include "app/report/compare/compared_runs.h"
#include "app/report/compare/comparison_table.h"
#include "app/report/compare/summary.h"
#include "app/report/page/page.h"

namespace steelyard {
namespace {

constexpr double narrowest_axis = 10;  // points of accuracy

bool has_line(const Entry& entry, std::size_t repeat) {
  return repeat < entry.trials.size() && entry.trials[repeat].good() &&
         !entry.trials[repeat].evaluations.empty();
}

Json colour_of(const Contender& contender) {
  if (!contender.alone.empty()) return "alone";
  return method_colour(contender.policy, contender.sync);
}

// The class of a bar.
std::string kind_of(const Contender& contender) {
  const Json colour = colour_of(contender);
  return colour.is_number() ? "hue-" + std::to_string(colour.get<int>() % 10) : "hue-alone";
}

// Against seconds, and against epochs: the second shows what a method learns from a sample.
Json accuracy_block(const Comparison& comparison, bool epochs) {
  const auto repeat = drawn_repeat(comparison);
  if (!repeat) return {};
  Chart chart{.id = epochs ? "learning" : "accuracy",
              .title = epochs ? "Test accuracy by epochs" : "Test accuracy",
              .note = epochs ? "Against passes over the data" : "Against seconds of training",
              .unit = " %",
              .axis = epochs ? "epochs" : "training time",
              .epochs = epochs,
              .span = narrowest_axis};
  if (comparison.repeats > 1) chart.note += ", runs with seed " + std::to_string(comparison.seed + *repeat);
  if (comparison.target > 0) {
    chart.target = 100 * comparison.target;
    chart.note += ". Dashed: the target, " + percent(comparison.target, 1);
  }
  chart.note += ".";
  for (const Entry& entry : comparison.entries) {
    if (!has_line(entry, *repeat) || (epochs && !entry.contender.alone.empty())) continue;
    Series line{label(entry.contender), colour_of(entry.contender), {}};
    line.dots = true;
    for (const Evaluation& it : entry.trials[*repeat].evaluations) {
      if (epochs && it.epochs == 0) continue;
      line.x.push_back(epochs ? static_cast<double>(it.epochs) : it.seconds);
      line.y.push_back(100 * it.accuracy);
    }
    if (!line.x.empty()) chart.series.push_back(std::move(line));
  }
  return chart_block(chart);
}

// Bars from 0 to the largest value; a method without a value has no bar.
struct Measure {
  const char *id, *title, *note;
  std::optional<Spread> (*of)(const Row&);
  std::string (*text)(double);
};

std::optional<Spread> time_of_update(const Row& row) {
  if (!row.seconds || !row.updates || row.updates->median <= 0) return std::nullopt;
  const double seconds = row.seconds->median / row.updates->median;
  return Spread{seconds, seconds, seconds};
}

std::string update_text(double seconds) { return short_number(1e3 * seconds) + " ms"; }
std::string count_text(double count) { return grouped(count); }

// Time to the target = time of an update * updates to the target.
constexpr Measure measures[] = {
    {"update-time", "Time of an update", "Computing, waiting and exchange.", time_of_update, update_text},
    {"target-updates", "Updates to the target", "More if an update teaches less.",
     [](const Row& row) { return row.updates_to_target; }, count_text},
    {"target-time", "Time to the target", "Time of an update times updates.",
     [](const Row& row) { return row.seconds_to_target; }, at_text},
};

Json measure_block(const Measure& measure, const std::vector<Row>& ranking) {
  double most = 0;
  for (const Row& row : ranking) {
    if (const auto value = measure.of(row)) most = std::max(most, value->median);
  }
  if (most <= 0) return {};
  Json rows = Json::array();
  TextRows table{{"method", "median", "least", "most"}};
  for (const Row& row : ranking) {
    if (row.good == 0) continue;
    const auto value = measure.of(row);
    const std::string text = value ? measure.text(value->median) : "not reached";
    Json parts = Json::array();
    if (value) parts.push_back(Json::array({kind_of(row.contender), brief(value->median / most)}));
    rows.push_back({{"name", label(row.contender)}, {"parts", parts}, {"value", text}});
    table.push_back({label(row.contender), text, value ? measure.text(value->least) : "",
                     value ? measure.text(value->most) : ""});
  }
  return {{"type", "bars"},         {"id", measure.id},
          {"title", measure.title}, {"note", measure.note},
          {"third", true},          {"legend", Json::array()},
          {"rows", rows},           {"table", table_block(measure.id, "", table, "", true)}};
}

// A bar for each method with a percent of ideal.
Json ideal_block(const std::vector<Row>& ranking) {
  Json rows = Json::array();
  TextRows table{{"method", "percent of ideal", "least", "most"}};
  for (const Row& row : ranking) {
    if (!row.percent_of_ideal) continue;
    const Spread& it = *row.percent_of_ideal;
    const std::string value = ideal_text(it.median);
    rows.push_back(
        {{"name", label(row.contender)},
         {"parts",
          Json::array({Json::array({kind_of(row.contender), brief(std::clamp(it.median / 100, 0.0, 1.0))})})},
         {"value", value}});
    table.push_back({label(row.contender), value, fixed(it.least, 1) + " %", fixed(it.most, 1) + " %"});
  }
  if (rows.empty()) return {};
  const std::string note = "100 %: the best split of every round.";
  return {{"type", "bars"},
          {"id", "ideal"},
          {"title", "Percent of ideal"},
          {"note", note},
          {"legend", Json::array()},
          {"rows", rows},
          {"table", table_block("ideal", "", table)}};
}

Json cards_block(const Comparison& comparison, const std::vector<Row>& ranking) {
  Json list = Json::array();
  const auto card = [&](const char* name, const std::string& value, const std::string& note) {
    list.push_back({{"label", name}, {"value", value}, {"note", note}});
  };
  const auto good =
      std::ranges::find_if(ranking, [](const Row& it) { return it.contender.alone.empty() && it.good > 0; });
  if (good == ranking.end()) return {};
  const Row& first = *good;
  card(comparison.target > 0 ? "first at the target" : "fastest method", label(first.contender),
       count_of(first.good, "run"));
  if (first.seconds_to_target)
    card("time to target", at_text(first.seconds_to_target->median),
         percent(comparison.target, 1) + " test accuracy");
  if (first.gain_on_equal && first.contender != equal_bsp)
    card("gain on equal bsp", fixed(first.gain_on_equal->median, 2) + " times", "as fast");
  if (first.gain_on_alone)
    card("gain on the best worker", fixed(first.gain_on_alone->median, 2) + " times",
         "as fast as it is alone");
  if (first.samples_per_s) card("samples/s", grouped(first.samples_per_s->median), "all workers together");
  if (first.accuracy) card("test accuracy", percent(first.accuracy->median, 2), "at the end");
  return {{"type", "cards"}, {"id", "cards"}, {"cards", list}};
}

Json numbers_block(const Comparison& comparison, const std::vector<Row>& ranking) {
  TextRows rows;
  for (const Row& row : ranking) {
    if (row.good + row.failed > 0) rows.push_back(cells(comparison, row));
  }
  const std::vector<std::size_t> columns = used_columns(rows);
  std::vector<std::string> titles = column_titles(comparison);
  for (std::string& title : titles) {  // here a title has one line
    if (const std::size_t cut = title.find("-\n"); cut != std::string::npos) title.erase(cut, 2);
    std::ranges::replace(title, '\n', ' ');
  }
  rows.insert(rows.begin(), titles);
  for (std::vector<std::string>& row : rows) {
    std::vector<std::string> used;
    for (const std::size_t i : columns) used.push_back(row[i]);
    row = used;
  }
  return table_block("numbers", "All numbers", rows);
}

Json section_for(const Comparison& comparison) {
  const std::vector<Row> ranking = ranked(summarise(comparison), comparison.target > 0);
  Json section = section_of(comparison.name, headline(comparison));
  std::size_t failed = 0;
  for (const Row& row : ranking) failed += row.failed;
  section["state"] = {
      {"name", comparison.interrupted ? "interrupted"
               : failed > 0           ? "failed"
                                      : "finished"},
      {"text", count_of(ranking.size(), "method") + ", " + count_of(comparison.repeats, "repeat") +
                   (failed > 0 ? ", " + count_of(failed, "run") + " failed" : "")},
      {"final", true}};
  const std::string verdict = verdict_line(comparison, ranking);
  const std::size_t cut = std::min(verdict.find_first_of(",;"), verdict.size());
  if (!verdict.empty())
    add_block(section, text_block("verdict", verdict.substr(0, cut), verdict.substr(cut) + "."));
  add_block(section, cards_block(comparison, ranking));
  add_block(section, accuracy_block(comparison, false));
  add_block(section, accuracy_block(comparison, true));
  if (comparison.target > 0) {
    for (const Measure& measure : measures) add_block(section, measure_block(measure, ranking));
  }
  add_block(section, ideal_block(ranking));
  add_block(section, numbers_block(comparison, ranking));
  TextRows failures{{"method", "failed runs", "reason"}};
  for (const Row& row : ranking) {
    if (row.failed > 0) failures.push_back({label(row.contender), std::to_string(row.failed), row.failure});
  }
  if (failures.size() > 1) add_block(section, table_block("failures", "Failed runs", failures));
  return section;
}

}  // namespace

std::optional<std::size_t> drawn_repeat(const Comparison& comparison) {
  std::optional<std::size_t> best;
  std::ptrdiff_t most = 0;
  for (std::size_t repeat = 0; repeat < comparison.repeats; ++repeat) {
    const auto lines =
        std::ranges::count_if(comparison.entries, [&](const Entry& it) { return has_line(it, repeat); });
    if (lines <= most) continue;
    most = lines;
    best = repeat;
  }
  return best;
}

Json comparison_document(const std::vector<Comparison>& comparisons) {
  Json sections = Json::array();
  for (const Comparison& comparison : comparisons) sections.push_back(section_for(comparison));
  if (!sections.empty()) add_block(sections.back(), help_block(compare_help));
  return {{"kind", "compare"}, {"title", "steelyard compare"}, {"sections", sections}};
}

}  // namespace steelyard
