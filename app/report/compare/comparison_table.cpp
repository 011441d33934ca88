#include "app/report/compare/comparison_table.h"

#include <algorithm>

#include "app/report/compare/compared_runs.h"
#include "app/report/page/page.h"
#include "app/report/terminal_text.h"
#include "core/json.h"

namespace steelyard {
namespace {

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json or_null(const std::optional<Spread>& value) {
  if (!value) return {};
  return {{"median", value->median}, {"least", value->least}, {"most", value->most}};
}

Json run_json(const Trial& trial, std::uint64_t seed) {
  Json evaluations = Json::array();
  for (const Evaluation& it : trial.evaluations) {
    evaluations.push_back({{"seconds", it.seconds}, {"updates", it.updates}, {"accuracy", it.accuracy}});
  }
  return {{"seed", seed},
          {"failure", or_null(trial.failure)},
          {"seconds", trial.seconds},
          {"samples", trial.samples},
          {"updates", trial.updates},
          {"samples_per_s", known_or_null(trial.samples_per_s())},
          {"percent_of_ideal", known_or_null(trial.percent_of_ideal)},
          {"efficiency", known_or_null(trial.efficiency)},
          {"accuracy", known_or_null(trial.accuracy)},
          {"directory", or_null(trial.directory)},
          {"evaluations", evaluations}};
}

Json method_json(const Row& row, const Entry& entry, std::uint64_t seed) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < entry.trials.size(); ++i) runs.push_back(run_json(entry.trials[i], seed + i));
  return {{"policy", row.contender.policy},
          {"sync", row.contender.sync},
          {"alone", or_null(row.contender.alone)},
          {"runs_good", row.good},
          {"runs_failed", row.failed},
          {"runs_at_target", row.reached},
          {"failure", or_null(row.failure)},
          {"seconds_to_target", or_null(row.seconds_to_target)},
          {"updates_to_target", or_null(row.updates_to_target)},
          {"seconds", or_null(row.seconds)},
          {"updates", or_null(row.updates)},
          {"samples_per_s", or_null(row.samples_per_s)},
          {"percent_of_ideal", or_null(row.percent_of_ideal)},
          {"efficiency", or_null(row.efficiency)},
          {"accuracy", or_null(row.accuracy)},
          {"gain_on_equal", or_null(row.gain_on_equal)},
          {"gain_on_alone", or_null(row.gain_on_alone)},
          {"runs", runs}};
}

constexpr double as_soon = 0.01;           // closer times are called equal
constexpr double no_gain = 0.95;           // gain on the best device below which more machines do not pay
constexpr std::size_t behind_named = 4;    // of methods that learn less
constexpr std::size_t longest_label = 32;  // columns of a method

// The median with half of the range, in percent of the median.
std::string with_spread(const std::optional<Spread>& value, int decimals) {
  if (!value) return "-";
  std::string text = grouped(value->median, decimals);
  if (value->median <= 0 || value->most == value->least) return text;
  const double share = 100 * value->half_range() / value->median;
  const std::string apart = fixed(share, share < 1 ? 1 : 0);
  return apart == "0.0" ? text : text + " ±" + apart + "%";
}

// The same for a percentage, with half of the range in points.
std::string with_points(const std::optional<Spread>& value, int decimals) {
  if (!value) return "-";
  const std::string apart = fixed(value->half_range(), decimals);
  return fixed(value->median, decimals) + (apart == fixed(0, decimals) ? "" : " ±" + apart);
}

// Noise puts the value of a short run above 100, and modes without a barrier exceed what is ideal for one.
std::string ideal_cell(const std::optional<Spread>& value) {
  return value && value->median > 100.5 ? ">100" : with_points(value, 1);
}

std::string time_to_target(const Row& row) {
  if (!row.seconds_to_target) return row.good > 0 ? "not reached" : "-";
  std::string text = with_spread(row.seconds_to_target, 2);
  if (row.reached == row.good) return text;
  return text + " (" + std::to_string(row.reached) + "/" + std::to_string(row.good) + ")";
}

// The first column to the left, numbers to the right.
std::string line(const std::vector<std::string>& texts, const std::vector<std::size_t>& widths,
                 const std::vector<std::size_t>& chosen) {
  std::string text = "  ";
  for (const std::size_t i : chosen) {
    const std::string padding(widths[i] - columns_of(texts[i]), ' ');
    text += i == 0 ? texts[i] + padding : "  " + padding + texts[i];
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

// Splits the columns into parts that fit the width; each part begins with the first column.
std::vector<std::vector<std::size_t>> parts_of(const std::vector<std::size_t>& columns,
                                               const std::vector<std::size_t>& widths, std::size_t width) {
  std::vector<std::vector<std::size_t>> parts{{columns.front()}};
  const std::size_t first = 2 + widths[columns.front()];
  std::size_t used = first;
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const std::size_t more = 2 + widths[columns[i]];
    if (used + more > width && parts.back().size() > 1) {
      parts.push_back({columns.front()});
      used = first;
    }
    parts.back().push_back(columns[i]);
    used += more;
  }
  return parts;
}

std::vector<std::string> part_of(const std::vector<std::string>& titles, bool upper) {
  std::vector<std::string> parts;
  for (const std::string& title : titles) {
    const std::size_t cut = title.find('\n');
    if (cut == std::string::npos) {
      parts.push_back(upper ? "" : title);
    } else {
      parts.push_back(upper ? title.substr(0, cut) : title.substr(cut + 1));
    }
  }
  return parts;
}

// "2.00 times (1.33 to 2.50) as fast as": a gain with the range of its repeats.
std::string times_as_fast(const Spread& gain) {
  std::string text = fixed(gain.median, 2) + " times";
  const std::string least = fixed(gain.least, 2), most = fixed(gain.most, 2);
  if (least != most) text.append(" (").append(least).append(" to ").append(most).append(")");
  return text + " as fast as ";
}

// Names the methods that are fast but end with less accuracy.
std::string behind_text(const std::vector<Row>& ranking, const std::vector<const Row*>& behind) {
  if (behind.empty()) return "";
  double best = 0;
  for (const Row& row : ranking) {
    if (row.accuracy) best = std::max(best, row.accuracy->median);
  }
  const auto percent = [](double share) { return fixed(100 * share, 2) + " %"; };
  std::string text =
      "; ranked behind all that keep the accuracy, more than a point below " + percent(best) + ":";
  for (std::size_t i = 0; i < std::min(behind.size(), behind_named); ++i) {
    text +=
        (i == 0 ? " " : ", ") + label(behind[i]->contender) + " with " + percent(behind[i]->accuracy->median);
  }
  const std::size_t more = behind.size() - std::min(behind.size(), behind_named);
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

}  // namespace

std::string comparison_json(const std::vector<Comparison>& comparisons) {
  Json list = Json::array();
  for (const Comparison& it : comparisons) {
    const std::vector<Row> rows = summarise(it);
    Json methods = Json::array();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      methods.push_back(method_json(rows[i], it.entries[i], it.seed));
    }
    list.push_back({{"kind", it.kind},
                    {"name", it.name},
                    {"directory", or_null(it.directory)},
                    {"seed", it.seed},
                    {"repeats", it.repeats},
                    {"target", it.target > 0 ? Json(it.target) : Json()},
                    {"interrupted", it.interrupted},
                    {"methods", methods}});
  }
  // Names and reasons may be any bytes.
  return dump_json(Json{{"format", 2}, {"comparisons", list}}, 2) + "\n";
}

std::string headline(const Comparison& comparison) {
  std::string text = comparison.kind + " " + comparison.name + ": ";
  text += comparison.repeats == 1 ? "seed " : std::to_string(comparison.repeats) + " repeats, seeds ";
  text += std::to_string(comparison.seed);
  if (comparison.repeats > 1) text += " to " + std::to_string(comparison.seed + comparison.repeats - 1);
  if (comparison.target > 0) text += "; target: " + fixed(100 * comparison.target, 1) + " % test accuracy";
  return text + (comparison.interrupted ? "; interrupted, some runs are missing" : "");
}

std::vector<std::string> column_titles(const Comparison& comparison) {
  const std::string target = fixed(100 * comparison.target, 1) + " %";
  const bool timed = comparison.target > 0;
  return {"method",
          timed ? "seconds to\n" + target : "seconds",
          timed ? "updates\nto it" : "updates",
          "samples\nper s",
          "% of\nideal",
          "gain on\nequal bsp",
          "gain on\nbest alone",
          "final\naccuracy",
          "effi-\nciency"};
}

std::vector<std::string> cells(const Comparison& comparison, const Row& row) {
  const bool timed = comparison.target > 0;
  const std::optional<Spread>& updates = timed ? row.updates_to_target : row.updates;
  std::optional<Spread> accuracy = row.accuracy;
  if (accuracy) *accuracy = {100 * accuracy->median, 100 * accuracy->least, 100 * accuracy->most};
  return {label(row.contender),
          timed ? time_to_target(row) : with_spread(row.seconds, 2),
          with_spread(updates, 0),
          with_spread(row.samples_per_s, row.samples_per_s && row.samples_per_s->median < 1000 ? 1 : 0),
          ideal_cell(row.percent_of_ideal),
          with_spread(row.gain_on_equal, 2),
          with_spread(row.gain_on_alone, 2),
          with_points(accuracy, 2) + (accuracy ? " %" : ""),
          with_points(row.efficiency, 2)};
}

std::vector<std::size_t> used_columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> columns{0};
  for (std::size_t i = 1; !rows.empty() && i < rows.front().size(); ++i) {
    if (std::ranges::any_of(rows, [&](const auto& texts) { return texts[i] != "-"; })) columns.push_back(i);
  }
  return columns;
}

std::string verdict_line(const Comparison& comparison, const std::vector<Row>& ranking) {
  const bool timed = comparison.target > 0;
  const auto number = [&](const Row& row) -> std::optional<double> {
    if (timed) return row.seconds_to_target ? std::optional(row.seconds_to_target->median) : std::nullopt;
    return row.samples_per_s ? std::optional(1 / row.samples_per_s->median) : std::nullopt;
  };
  // The worker alone is a baseline, not a method.
  std::vector<const Row*> methods, behind;
  for (const Row& row : ranking) {
    if (row.contender.alone.empty() && number(row)) (row.behind ? behind : methods).push_back(&row);
  }
  if (methods.empty() || methods.size() + behind.size() < 2) return "";
  const Row& first = *methods.front();
  const auto lone = std::ranges::find_if(
      ranking, [&](const Row& row) { return !row.contender.alone.empty() && number(row); });
  const bool in_vain = lone != ranking.end() && first.gain_on_alone && first.gain_on_alone->median < no_gain;
  std::string text = label(first.contender) + " is first";
  if (in_vain) {
    text = label(lone->contender) + " is fastest: more machines gain nothing for this job; of the methods, " +
           text;
  }
  if (first.gain_on_equal && first.contender != equal_bsp)
    text += ", " + times_as_fast(*first.gain_on_equal) + "equal bsp";
  if (first.gain_on_alone) text += ", " + times_as_fast(*first.gain_on_alone) + "the best device alone";
  if (methods.size() > 1) {
    const double lead = *number(*methods[1]) / *number(first);
    text += "; " + label(methods[1]->contender) +
            (lead < 1 + as_soon ? " is as fast within 1 %"
                                : " takes " + fixed(100 * (lead - 1), lead < 1.1 ? 1 : 0) + " % longer");
  }
  return text + behind_text(ranking, behind);
}

std::string comparison_table(const Comparison& comparison, std::size_t width) {
  const std::vector<Row> ranking = ranked(summarise(comparison), comparison.target > 0);
  const std::vector<std::string> titles = column_titles(comparison);
  std::vector<std::vector<std::string>> lines;
  for (const Row& row : ranking) {
    // Methods without a run, after an interruption, are left out.
    if (row.good + row.failed == 0) continue;
    lines.push_back(cells(comparison, row));
    lines.back().front() = shown_line(lines.back().front(), longest_label);
  }
  const std::vector<std::size_t> columns = used_columns(lines);
  lines.insert(lines.begin(), {part_of(titles, true), part_of(titles, false)});
  std::vector<std::size_t> widths(titles.size(), 0);
  for (const auto& texts : lines) {
    for (std::size_t i = 0; i < texts.size(); ++i) widths[i] = std::max(widths[i], columns_of(texts[i]));
  }
  const auto sentence = [&](const std::string& text, std::size_t indent) {
    return wrapped(shown_line(text), width, indent) + "\n";
  };
  std::string text = sentence(headline(comparison), 4);
  const auto parts = parts_of(columns, widths, width);
  for (const auto& part : parts) {
    if (&part != &parts.front()) text += "\n";
    for (const auto& texts : lines) text += line(texts, widths, part);
  }
  for (const Row& row : ranking) {
    if (row.failed == 0) continue;
    text += sentence("  " + label(row.contender) + " failed in " + std::to_string(row.failed) + " of " +
                         std::to_string(row.good + row.failed) + " runs: " + row.failure,
                     4);
  }
  const std::string verdict = verdict_line(comparison, ranking);
  return verdict.empty() ? text : text + sentence("  " + verdict, 4);
}

}  // namespace steelyard
