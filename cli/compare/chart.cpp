#include "cli/compare/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/compare/table.h"

namespace steelyard {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double shown_below = 0.25;  // of accuracy, below the target or else the best

std::string xy(double x, double y) { return fixed(x, 1) + "," + fixed(y, 1); }

std::string text_at(double x, double y, const std::string& anchor, const std::string& text) {
  return "<text x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" text-anchor=\"" + anchor + "\">" +
         escaped(text) + "</text>";
}

std::string line_from(const std::string& kind, double x1, double y1, double x2, double y2) {
  return "<line class=\"" + kind + "\" x1=\"" + fixed(x1, 1) + "\" y1=\"" + fixed(y1, 1) + "\" x2=\"" +
         fixed(x2, 1) + "\" y2=\"" + fixed(y2, 1) + "\"/>";
}

// From data to the picture, and the frame around it.
struct Plane {
  static constexpr double left = 56, right = 704, top = 14, bottom = 300;
  double x_most = 1, y_least = 0, y_most = 1;
  double x_step = 1, y_step = 0.1;

  explicit Plane(const Comparison& comparison) {
    double least = 1, most = 0, longest = 0;
    for (const Entry& entry : comparison.entries) {
      for (const Trial& trial : entry.trials) {
        for (const Evaluation& it : trial.evaluations) {
          least = std::min(least, it.accuracy);
          most = std::max(most, it.accuracy);
          longest = std::max(longest, it.seconds);
        }
      }
    }
    if (comparison.target > 0) least = std::min(least, comparison.target);
    if (comparison.target > 0) most = std::max(most, comparison.target);
    // Who went astray must not press all others together: such a curve leaves the picture below.
    least = std::max(least, (comparison.target > 0 ? comparison.target : most) - shown_below);
    y_step = axis_step(std::max(most - least, 0.01), 6);
    y_least = std::floor(least / y_step) * y_step;
    y_most = std::ceil(most / y_step + 1e-9) * y_step;
    x_step = axis_step(std::max(longest, 1e-9), 8);
    x_most = std::max(longest, 1e-9) * 1.02;
  }

  [[nodiscard]] double x(double seconds) const { return left + (right - left) * seconds / x_most; }
  [[nodiscard]] double y(double accuracy) const {
    return bottom - (bottom - top) * (accuracy - y_least) / (y_most - y_least);
  }

  [[nodiscard]] std::string frame() const {
    std::string text;
    const int decimals = y_step < 0.01 ? 1 : 0;
    for (int i = 0; y_least + i * y_step <= y_most + y_step / 2; ++i) {
      const double value = y_least + i * y_step;
      text += line_from("grid", left, y(value), right, y(value));
      text += text_at(left - 6, y(value) + 4, "end", fixed(100 * value, decimals) + " %");
    }
    const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(x_step))));
    for (int i = 0; i * x_step <= x_most; ++i) {
      text += line_from("axis", x(i * x_step), bottom, x(i * x_step), bottom + 5);
      text += text_at(x(i * x_step), bottom + 19, "middle", fixed(i * x_step, digits));
    }
    text += line_from("axis", left, bottom, right, bottom);
    return text + text_at(right, bottom + 37, "end", "seconds of training");
  }
};

// The run in the middle of its method; where two are, the earlier.
std::size_t median_trial(const Entry& entry, double target) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < entry.trials.size(); ++i) {
    const Trial& trial = entry.trials[i];
    if (!trial.good()) continue;
    const Evaluation* at = target > 0 ? first_at(trial, target) : nullptr;
    order.emplace_back(at != nullptr ? at->seconds : target > 0 ? never : trial.seconds, i);
  }
  if (order.empty()) return entry.trials.size();
  std::ranges::sort(order);
  return order[(order.size() - 1) / 2].second;
}

std::string curve(const Plane& plane, const Trial& trial, const std::string& kind, const std::string& title) {
  std::string points, dots;
  for (const Evaluation& it : trial.evaluations) {
    points += (points.empty() ? "" : " ") + xy(plane.x(it.seconds), plane.y(it.accuracy));
    dots += "<circle cx=\"" + fixed(plane.x(it.seconds), 1) + "\" cy=\"" + fixed(plane.y(it.accuracy), 1) +
            "\" r=\"3\"><title>" + escaped(title) + ": " + fixed(100 * it.accuracy, 2) + " % after " +
            fixed(it.seconds, 2) + " s</title></circle>";
  }
  return "<g class=\"" + kind + "\"><polyline points=\"" + points + "\"/>" + dots + "</g>";
}

}  // namespace

double axis_step(double range, int most) {
  const double power = std::pow(10, std::floor(std::log10(range / most)));
  for (const double factor : {1, 2, 5}) {
    if (range / (factor * power) <= most * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string method_class(std::size_t entry) { return "m" + std::to_string(entry % method_classes); }

std::string accuracy_chart(const Comparison& comparison) {
  const Plane plane(comparison);
  std::string faint, strong;
  for (std::size_t i = 0; i < comparison.entries.size(); ++i) {
    const Entry& entry = comparison.entries[i];
    const std::size_t middle = median_trial(entry, comparison.target);
    for (std::size_t r = 0; r < entry.trials.size(); ++r) {
      const Trial& trial = entry.trials[r];
      if (!trial.good() || trial.evaluations.empty()) continue;
      const std::string kind = "curve " + method_class(i) + (entry.entrant.alone.empty() ? "" : " alone");
      const std::string title = label(entry.entrant) + ", repeat " + std::to_string(r + 1);
      (r == middle ? strong : faint) += curve(plane, trial, r == middle ? kind : kind + " faint", title);
    }
  }
  if (strong.empty()) return "";
  std::string text =
      "<svg viewBox=\"0 0 720 345\" role=\"img\" aria-label=\"accuracy against time\">" + plane.frame();
  if (comparison.target > 0) {
    const double y = plane.y(comparison.target);
    text += line_from("mark", Plane::left, y, Plane::right, y);
    text += text_at(Plane::right, y - 5, "end", "target");
  }
  // Every picture has the same plane, so it does not matter whose clip-path of this name is taken.
  text += "<clipPath id=\"plane\"><rect x=\"" + fixed(Plane::left, 1) + "\" y=\"0\" width=\"" +
          fixed(Plane::right - Plane::left + 6, 1) + "\" height=\"" + fixed(Plane::bottom, 1) +
          "\"/></clipPath>";
  return text + "<g clip-path=\"url(#plane)\">" + faint + strong + "</g></svg>\n";
}

std::string ideal_chart(const Comparison& comparison, const std::vector<Row>& ranking) {
  constexpr double left = 190, right = 640, height = 26, top = 8;
  double most = 100;
  std::vector<const Row*> rows;
  for (const Row& row : ranking) {
    if (!row.percent_of_ideal) continue;
    rows.push_back(&row);
    most = std::max(most, row.percent_of_ideal->most);
  }
  if (rows.empty()) return "";
  const double bottom = top + height * static_cast<double>(rows.size());
  const auto x = [&](double percent) { return left + (right - left) * percent / most; };
  std::string text =
      "<svg viewBox=\"0 0 720 " + fixed(bottom + 24, 0) + "\" role=\"img\" aria-label=\"percent of ideal\">";
  for (int percent = 0; percent <= 100; percent += 25) {
    text += line_from(percent == 100 ? "mark" : "grid", x(percent), top, x(percent), bottom);
    text += text_at(x(percent), bottom + 18, "middle", std::to_string(percent) + " %");
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = top + height * static_cast<double>(i);
    const Spread& percent = *rows[i]->percent_of_ideal;
    std::size_t entry = 0;
    while (!(comparison.entries[entry].entrant == rows[i]->entrant)) ++entry;
    text += text_at(left - 8, y + 17, "end", label(rows[i]->entrant));
    text += "<rect class=\"bar " + method_class(entry) + "\" x=\"" + fixed(left, 1) + "\" y=\"" +
            fixed(y + 4, 1) + "\" width=\"" + fixed(x(percent.median) - left, 1) + "\" height=\"" +
            fixed(height - 8, 1) + "\" rx=\"2\"><title>" + fixed(percent.least, 1) + " to " +
            fixed(percent.most, 1) + " %</title></rect>";
    // How far the runs lie apart.
    if (percent.most > percent.least)
      text += line_from("range", x(percent.least), y + height / 2, x(percent.most), y + height / 2);
    text += text_at(x(percent.most) + 8, y + 17, "start", fixed(percent.median, 1) + " %");
  }
  return text + "</svg>\n";
}

}  // namespace steelyard
