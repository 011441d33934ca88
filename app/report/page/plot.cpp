#include "app/report/page/plot.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "app/report/page/page.h"

namespace steelyard {
namespace {

constexpr double units = 1000;                  // of the picture, each way; the page stretches it
constexpr std::size_t most_table_rows = 25;     // of the table
constexpr double nearly_all_points = 0.97;      // of the points
constexpr double far_above = 2.5, above = 1.3;  // of what nearly all are below

struct Axis {
  double top = 1, step = 1;
  [[nodiscard]] std::string y(double value) const {
    return fixed(units * (1 - std::clamp(value / top, 0.0, 1.0)), 1);
  }
};

// A few points far above all others, as the first round's, would press the others together: they are drawn at
// the edge.
double top_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double usual =
      values[static_cast<std::size_t>(nearly_all_points * static_cast<double>(values.size() - 1))];
  return values.back() > far_above * usual ? above * usual : values.back();
}

Axis axis_of(const Plot& plot) {
  std::vector<double> values;
  for (const Series& it : plot.series) {
    for (const std::vector<double>* of : {&it.y, &it.high}) {
      std::ranges::copy_if(*of, std::back_inserter(values),
                           [](double value) { return std::isfinite(value); });
    }
  }
  double most = std::max(plot.most, top_of(std::move(values)));
  if (plot.cap > 0) most = std::min(most, plot.cap);
  if (!(most > 0)) most = 1;
  Axis axis;
  axis.step = axis_step(most, 6);
  axis.top = std::ceil(most / axis.step - 1e-9) * axis.step;
  return axis;
}

std::string at_x(const Plot& plot, double x) { return fixed(units * std::clamp(x / plot.to, 0.0, 1.0), 1); }

// A point that is no number breaks the line.
std::string line(const Plot& plot, const Axis& axis, const Series& it) {
  std::string path, values, dots;
  bool open = false;
  for (std::size_t i = 0; i < it.x.size(); ++i) {
    if (!std::isfinite(it.y[i])) {
      open = false;
      continue;
    }
    const std::string at = at_x(plot, it.x[i]) + " " + axis.y(it.y[i]);
    path += (open ? "L" : "M") + at;
    values += (values.empty() ? "" : " ") + short_number(it.y[i]);
    if (!it.low.empty()) values += "," + short_number(it.low[i]) + "," + short_number(it.high[i]);
    if (it.dots) dots += "M" + at + "h0";
    open = true;
  }
  if (path.empty()) return "";
  return "<path class=\"line\" data-name=\"" + escaped(it.name) + "\" data-v=\"" + values + "\" d=\"" + path +
         "\"/>" + (dots.empty() ? "" : "<path class=\"dot\" d=\"" + dots + "\"/>");
}

// From the least to the most of each point, filled; in pieces, where there are gaps.
std::string band(const Plot& plot, const Axis& axis, const Series& it) {
  if (it.low.empty()) return "";
  std::string path;
  for (std::size_t from = 0; from < it.x.size();) {
    std::size_t to = from;
    std::string up, down;
    for (; to < it.x.size() && std::isfinite(it.y[to]); ++to) {
      up += (up.empty() ? "M" : "L") + at_x(plot, it.x[to]) + " " + axis.y(it.high[to]);
      down.insert(0, "L" + at_x(plot, it.x[to]) + " " + axis.y(it.low[to]));
    }
    if (to > from + 1) path += up + down + "Z";
    from = to + 1;
  }
  return path.empty() ? "" : "<path class=\"band\" d=\"" + path + "\"/>";
}

std::string labels(const Plot& plot, const Axis& axis) {
  std::string text = "<div class=\"up\">";
  for (int i = 0; i * axis.step <= axis.top * (1 + 1e-9); ++i) {
    text += axis_label("top", 1 - i * axis.step / axis.top,
                       fixed(i * axis.step, axis_decimals(axis.step)) + plot.unit);
  }
  return text + "</div>";
}

std::string along(const Plot& plot) {
  const double step = axis_step(plot.to, 6);
  std::string text = "<div class=\"along\">";
  for (int i = 0; i * step <= plot.to * (1 + 1e-9); ++i) {
    text += axis_label("left", i * step / plot.to, fixed(i * step, axis_decimals(step)));
  }
  return text + "</div><p class=\"axis\">seconds since the first round began</p>";
}

std::string grid(const Plot& plot, const Axis& axis) {
  std::string lines, marks;
  for (int i = 0; i * axis.step <= axis.top * (1 + 1e-9); ++i) {
    lines += "M0 " + axis.y(i * axis.step) + "H" + fixed(units, 0);
  }
  for (const double mark : plot.marks) marks += "M" + at_x(plot, mark) + " 0V" + fixed(units, 0);
  return "<path class=\"grid\" d=\"" + lines + "\"/>" +
         (marks.empty() ? "" : "<path class=\"happened\" d=\"" + marks + "\"/>");
}

std::string table(const Plot& plot) {
  std::vector<std::string> head{"seconds"};
  std::vector<std::vector<std::string>> rows;
  for (const Series& whole : plot.series) {
    head.push_back(whole.name);
    const Series it = thinned(whole, most_table_rows);
    const std::size_t column = head.size() - 1;
    for (std::size_t i = 0; i < it.x.size(); ++i) {
      const std::string at = fixed(it.x[i], 2);
      auto row = std::ranges::find(rows, at, [](const auto& cells) { return cells[0]; });
      if (row == rows.end()) row = rows.insert(rows.end(), {at});
      if (row->size() > column) continue;  // two points within a hundredth of a second
      row->resize(column);
      row->push_back(std::isfinite(it.y[i]) ? short_number(it.y[i]) + plot.unit : "");
    }
  }
  std::ranges::stable_sort(rows, {}, [](const auto& cells) { return std::stod(cells[0]); });
  for (auto& row : rows) row.resize(head.size());
  rows.insert(rows.begin(), head);
  return "<details><summary>as a table</summary>" + html_table(rows) + "</details>\n";
}

}  // namespace

std::string drawn(const Plot& plot) {
  if (!(plot.to > 0)) return "";
  const Axis axis = axis_of(plot);
  std::string lines, legend;
  for (const Series& it : plot.series) {
    const std::string path = line(plot, axis, it);
    if (path.empty()) continue;
    lines += "<g class=\"" + it.kind + "\">" + band(plot, axis, it) + path + "</g>";
    legend += legend_item(it.kind, it.name);
  }
  if (lines.empty()) return "";
  const std::string size = fixed(units, 0);
  return "<h3>" + escaped(plot.title) + "</h3>\n<p class=\"soft\">" + escaped(plot.about) +
         "</p>\n<div class=\"plot low\" role=\"group\" tabindex=\"0\" data-to=\"" + short_number(plot.to) +
         "\" data-unit=\"" + escaped(plot.unit) + "\" aria-label=\"" + escaped(plot.title) +
         " against time\">" + labels(plot, axis) + "<svg viewBox=\"0 0 " + size + " " + size +
         "\" preserveAspectRatio=\"none\" aria-hidden=\"true\">" + grid(plot, axis) + lines + "</svg>" +
         along(plot) + "</div>\n<ul class=\"legend\">" + legend + "</ul>\n" + table(plot);
}

Series thinned(Series series, std::size_t points) {
  const std::size_t count = series.x.size();
  if (count <= points || points == 0) return series;
  Series thin{series.name, series.kind, {}, {}, {}, {}, series.dots};
  for (std::size_t bin = 0; bin < points; ++bin) {
    const std::size_t from = bin * count / points, to = (bin + 1) * count / points;
    double x = 0, sum = 0, low = INFINITY, high = -INFINITY;
    std::size_t good = 0;
    for (std::size_t i = from; i < to; ++i) {
      x += series.x[i] / static_cast<double>(to - from);
      if (!std::isfinite(series.y[i])) continue;
      sum += series.y[i];
      low = std::min(low, series.low.empty() ? series.y[i] : series.low[i]);
      high = std::max(high, series.high.empty() ? series.y[i] : series.high[i]);
      ++good;
    }
    thin.x.push_back(x);
    thin.y.push_back(good > 0 ? sum / static_cast<double>(good) : NAN);
    thin.low.push_back(low);
    thin.high.push_back(high);
  }
  return thin;
}

}  // namespace steelyard
