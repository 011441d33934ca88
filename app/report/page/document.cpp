#include "app/report/page/document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "app/report/page/page.h"

namespace steelyard {
namespace {

constexpr std::size_t table_rows = 20;  // behind a chart
constexpr int hues = 10;                // of the palette; dashes tell further lines apart

Json brief_list(const std::vector<double>& values, int digits) {
  Json list = Json::array();
  for (const double value : values) list.push_back(brief(value, digits));
  return list;
}

int place_in(const auto& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != std::end(names)) return static_cast<int>(found - std::begin(names));
  return static_cast<int>(std::size(names)) + std::accumulate(name.begin(), name.end(), 0) % 97;
}

// A row for each x.
TextRows rows_by_epoch(const Chart& chart) {
  TextRows rows{{"epochs"}};
  std::map<double, std::vector<std::string>> found;
  for (std::size_t k = 0; k < chart.series.size(); ++k) {
    const Series& it = chart.series[k];
    rows[0].push_back(it.name);
    for (std::size_t i = 0; i < it.x.size(); ++i) {
      std::vector<std::string>& row = found[it.x[i]];
      row.resize(chart.series.size());
      row[k] = short_number(it.y[i]) + chart.unit;
    }
  }
  for (auto& [x, row] : found) {
    row.insert(row.begin(), short_number(x));
    rows.push_back(std::move(row));
  }
  return rows;
}

// The mean of each series in equal parts of the time.
TextRows rows_behind(const Chart& chart, double from, double to) {
  if (chart.epochs) return rows_by_epoch(chart);
  TextRows rows{{"seconds"}};
  const double step = std::max(to - from, 1e-9) / table_rows;
  for (std::size_t i = 0; i < table_rows; ++i) {
    const double end = from + step * static_cast<double>(i + 1);
    std::vector<std::string> row{grouped(end, step < 0.1 ? 2 : step < 2 ? 1 : 0)};
    bool any = false;
    for (const Series& it : chart.series) {
      if (i == 0) rows[0].push_back(it.name);
      double sum = 0, count = 0;
      for (std::size_t k = 0; k < it.x.size(); ++k) {
        const bool last = i + 1 == table_rows;
        if (it.x[k] < end - step || (last ? it.x[k] > to : it.x[k] >= end) || !std::isfinite(it.y[k]))
          continue;
        sum += it.y[k];
        ++count;
      }
      any = any || count > 0;
      row.push_back(count > 0 ? short_number(sum / count) + chart.unit : "");
    }
    if (any) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Json brief(double value, int digits) {
  if (!std::isfinite(value)) return {};
  if (value == 0) return 0;
  const double power = std::pow(10, digits - 1 - std::floor(std::log10(std::abs(value))));
  const double rounded = power >= 1 ? std::round(value * power) / power : std::round(value);
  if (rounded == std::trunc(rounded) && std::abs(rounded) < 1e15) return static_cast<std::int64_t>(rounded);
  return rounded;
}

Series thinned(Series series, std::size_t most) {
  const std::size_t count = series.x.size();
  if (count <= most || most == 0) return series;
  Series thin{series.name, series.colour, {}, {}, {}, {}, series.dots};
  for (std::size_t bucket = 0; bucket < most; ++bucket) {
    const std::size_t from = bucket * count / most, to = (bucket + 1) * count / most;
    double x = 0, sum = 0, low = INFINITY, high = -INFINITY, good = 0;
    for (std::size_t i = from; i < to; ++i) {
      x += series.x[i] / static_cast<double>(to - from);
      if (!std::isfinite(series.y[i])) continue;
      sum += series.y[i];
      low = std::min(low, series.low.empty() ? series.y[i] : series.low[i]);
      high = std::max(high, series.high.empty() ? series.y[i] : series.high[i]);
      ++good;
    }
    thin.x.push_back(x);
    thin.y.push_back(good > 0 ? sum / good : NAN);
    thin.low.push_back(good > 0 ? low : NAN);
    thin.high.push_back(good > 0 ? high : NAN);
  }
  return thin;
}

Json chart_block(const Chart& chart) {
  Json series = Json::array(), shared;
  double from = INFINITY, to = -INFINITY;
  for (const Series& it : chart.series) {
    for (std::size_t i = 0; i < it.x.size(); ++i) {
      if (!std::isfinite(it.y[i])) continue;
      from = std::min(from, it.x[i]);
      to = std::max(to, it.x[i]);
    }
    const Json x = brief_list(it.x, 6);
    if (shared.is_null()) shared = x;
    Json one = {{"name", it.name}, {"colour", it.colour}};
    if (it.dots) one["dots"] = true;
    if (x != shared) one["x"] = x;
    one["mean"] = brief_list(it.y, 4);
    if (!it.low.empty()) {
      one["min"] = brief_list(it.low, 3);
      one["max"] = brief_list(it.high, 3);
    }
    series.push_back(one);
  }
  if (from > to) return {};
  Json marks = Json::array();
  for (const auto& [x, text] : chart.marks) marks.push_back(Json::array({brief(x, 6), text}));
  Json block = table_block(chart.id, chart.title, rows_behind(chart, from, to), chart.note, true);
  block["type"] = "chart";
  block.update({{"unit", chart.unit},
                {"x", shared},
                {"series", series},
                {"marks", marks},
                {"axis", chart.axis},
                {"zero", chart.zero},
                {"span", chart.span}});
  if (chart.target >= 0) block["target"] = chart.target;
  if (chart.epochs) block["epochs"] = true;
  return block;
}

Json table_block(const std::string& id, const std::string& title, const TextRows& rows,
                 const std::string& note, bool fold) {
  return {{"type", "table"},
          {"id", id},
          {"title", title},
          {"note", note},
          {"fold", fold},
          {"columns", rows.front()},
          {"rows", std::vector(rows.begin() + 1, rows.end())}};
}

Json text_block(const std::string& id, const std::string& lead, const std::string& text) {
  return {{"type", "text"}, {"id", id}, {"lead", lead}, {"text", text}};
}

Json help_block(const char* text) {
  return {{"type", "facts"},
          {"id", "reading"},
          {"title", "How to read it"},
          {"facts", Json::array({Json::array({"", text})})}};
}

Json section_of(const std::string& title, const std::string& about) {
  return {{"id", ""}, {"title", title}, {"about", about}, {"blocks", Json::array()}};
}

void add_block(Json& section, Json block) {
  if (!block.is_null()) section["blocks"].push_back(std::move(block));
}

int method_colour(const std::string& policy, const std::string& sync) {
  static constexpr std::array policies{"equal", "steelyard", "lb-bsp",   "dlb",       "lbb",
                                       "boa",   "static",    "cannikin", "omnilearn", "orchestra"};
  static constexpr std::array modes{"bsp", "local", "ssp", "asp"};
  static constexpr std::array shift{0, 5, 7, 9};  // to hues that few methods have
  const int mode = place_in(modes, sync.substr(0, sync.find(':'))) % static_cast<int>(modes.size());
  return (place_in(policies, policy) + shift[static_cast<std::size_t>(mode)]) % hues + hues * mode;
}

}  // namespace steelyard
