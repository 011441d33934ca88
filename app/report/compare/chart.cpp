#include "app/report/compare/chart.h"

#include <algorithm>
#include <cmath>

#include "app/report/page/page.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr double chart_units = 1000;  // of the picture, each way; the page stretches it

bool has_curve(const Entry& entry, std::size_t repeat) {
  return repeat < entry.trials.size() && entry.trials[repeat].good() &&
         !entry.trials[repeat].evaluations.empty();
}

// The class of its colour: by its place in the comparison.
std::string colour_of(const Comparison& comparison, const Contender& contender) {
  const auto found = std::ranges::find(comparison.entries, contender, &Entry::contender);
  return nth_colour(static_cast<std::size_t>(found - comparison.entries.begin()));
}

std::string css_percent(double share) { return fixed(100 * share, 2) + "%"; }

// The accuracies of an axis. Where the errors lie far apart, as when a run went astray, the axis is
// logarithmic in the error, or that run would press all others together.
class Heights {
 public:
  Heights(double least, double most) {
    const double least_error = 1 - most, most_error = 1 - least;
    smallest_ = std::max(least_error / 2, most_error / 1000);
    stretched_ = most_error > far_apart * least_error;
    if (stretched_) {
      const double margin = 0.04 * (height_of(most) - height_of(least));
      low_ = height_of(least) - margin;
      high_ = height_of(most) + margin;
      for (const double value : {0.8, 0.9, 0.95, 0.99}) {  // one that is little above stands at the top
        const double more = height_of(value) - height_of(most);
        if (1 - value >= smallest_ && 0 < more && more < 4 * margin)
          high_ = std::max(high_, height_of(value));
      }
      choose_round_values();
    } else {
      const double step = axis_step(std::max(most - least, 0.01), 7);
      low_ = std::min(std::floor(least / step + 1e-9) * step, 1 - step);
      high_ = std::max(std::ceil(most / step - 1e-9) * step, low_ + step);
      for (int i = 0; i <= std::lround((high_ - low_) / step); ++i) values_.push_back(low_ + i * step);
    }
  }

  [[nodiscard]] bool stretched() const { return stretched_; }
  [[nodiscard]] const std::vector<double>& values() const { return values_; }  // to stand at the axis
  // Share of the height, from above.
  [[nodiscard]] double y(double accuracy) const { return (high_ - height_of(accuracy)) / (high_ - low_); }

 private:
  static constexpr double far_apart = 3;  // the largest error, over the smallest
  static constexpr double apart = 0.08;   // two values at the axis, in shares of the height

  [[nodiscard]] double height_of(double accuracy) const {
    return stretched_ ? -std::log(std::max(1 - accuracy, smallest_)) : accuracy;
  }
  // The rounder ones first, each where there is room for it.
  void choose_round_values() {
    for (const double value : {0.5, 0.9, 0.8,  0.99, 0.95, 0.7,  0.98, 0.6,  0.4,   0.2,  0.1,
                               0.3, 0.0, 0.85, 0.97, 0.96, 0.75, 0.92, 0.94, 0.995, 0.999}) {
      const double at = y(value);
      const bool room =
          std::ranges::none_of(values_, [&](double other) { return std::abs(y(other) - at) < apart; });
      if (0 <= at && at <= 1 && 1 - value >= smallest_ && room) values_.push_back(value);
    }
  }

  bool stretched_ = false;
  double smallest_ = 0;  // error that is told from none
  double low_ = 0, high_ = 1;
  std::vector<double> values_;
};

// What all curves together take up.
struct Extent {
  double least = 1, most = 0;  // accuracy
  double longest = 0;          // seconds
};
Extent extent_of(const Comparison& comparison, std::size_t repeat) {
  Extent extent;
  if (comparison.target > 0) extent = {comparison.target, comparison.target, 0};
  for (const Entry& entry : comparison.entries) {
    if (!has_curve(entry, repeat)) continue;
    for (const Evaluation& it : entry.trials[repeat].evaluations) {
      extent.least = std::min(extent.least, it.accuracy);
      extent.most = std::max(extent.most, it.accuracy);
      extent.longest = std::max(extent.longest, it.seconds);
    }
  }
  return extent;
}

// From data to the picture. All that is drawn lies within it.
class Plane {
 public:
  explicit Plane(const Extent& extent)
      : heights_(extent.least, extent.most),
        x_most_(std::max(extent.longest, 1e-9) * 1.03),
        x_step_(axis_step(x_most_, 6)) {}

  [[nodiscard]] double seconds() const { return x_most_; }  // of the right edge
  [[nodiscard]] std::string height(double accuracy) const {
    return fixed(chart_units * heights_.y(accuracy), 1);
  }
  [[nodiscard]] std::string point(const Evaluation& it) const {
    return fixed(chart_units * it.seconds / x_most_, 1) + " " + height(it.accuracy);
  }
  [[nodiscard]] std::string y_labels() const {
    std::string text = "<div class=\"up\">";
    for (const double value : heights_.values()) {
      const bool whole = std::abs(100 * value - std::round(100 * value)) < 1e-6;
      text += axis_label("top", heights_.y(value), fixed(100 * value, whole ? 0 : 1) + " %");
    }
    return text + "</div>";
  }
  [[nodiscard]] std::string x_labels() const {
    std::string text = "<div class=\"along\">";
    for (int i = 0; i * x_step_ <= x_most_; ++i)
      text += axis_label("left", i * x_step_ / x_most_, fixed(i * x_step_, axis_decimals(x_step_)));
    text += "</div><p class=\"axis\">seconds of training";
    if (heights_.stretched()) text += "; upwards accuracy, the error on a logarithmic scale";
    return text + "</p>";
  }
  [[nodiscard]] std::string grid() const {
    std::string path;
    for (const double value : heights_.values()) path += "M0 " + height(value) + "H" + fixed(chart_units, 0);
    return "<path class=\"grid\" d=\"" + path + "\"/>";
  }

 private:
  const Heights heights_;
  const double x_most_, x_step_;
};

// A dot is a line without length, so that it stays round when the page stretches the picture.
std::string curve(const Plane& plane, const Trial& trial, const std::string& kind, const std::string& title) {
  std::string path, dots, values;
  for (const Evaluation& it : trial.evaluations) {
    const std::string at = plane.point(it);
    values += (values.empty() ? "" : " ") + fixed(100 * it.accuracy, 2);
    path += (path.empty() ? "M" : "L") + at;
    dots += "<path class=\"dot\" d=\"M" + at + "h0\"><title>" + escaped(title) + ": " +
            fixed(100 * it.accuracy, 2) + " % after " + fixed(it.seconds, 2) + " s</title></path>";
  }
  return "<g class=\"" + kind + "\"><path class=\"line\" data-name=\"" + escaped(title) + "\" data-v=\"" +
         values + "\" d=\"" + path + "\"/>" + dots + "</g>";
}

}  // namespace

std::optional<std::size_t> drawn_repeat(const Comparison& comparison) {
  std::optional<std::size_t> best;
  std::ptrdiff_t most = 0;
  for (std::size_t repeat = 0; repeat < comparison.repeats; ++repeat) {
    const auto curves =
        std::ranges::count_if(comparison.entries, [&](const Entry& it) { return has_curve(it, repeat); });
    if (curves <= most) continue;
    most = curves;
    best = repeat;
  }
  return best;
}

std::string accuracy_chart(const Comparison& comparison) {
  const auto repeat = drawn_repeat(comparison);
  if (!repeat) return "";
  const Plane plane(extent_of(comparison, *repeat));
  const std::string seed = ", seed " + std::to_string(comparison.seed + *repeat);
  std::string curves, legend;
  for (const Entry& entry : comparison.entries) {
    if (!has_curve(entry, *repeat)) continue;
    const std::string kind = colour_of(comparison, entry.contender);
    curves += curve(plane, entry.trials[*repeat], kind, label(entry.contender) + seed);
    legend += legend_item(kind, label(entry.contender));
  }
  std::string target;
  if (comparison.target > 0) {
    target = "<path class=\"mark line\" d=\"M0 " + plane.height(comparison.target) + "H" +
             fixed(chart_units, 0) + "\"/>";
    legend += legend_item("mark", "target: " + fixed(100 * comparison.target, 1) + " %");
  }
  const std::string size = fixed(chart_units, 0);
  return "<div class=\"plot\" role=\"group\" tabindex=\"0\" data-unit=\" %\" data-to=\"" +
         fixed(plane.seconds(), 6) + "\" aria-label=\"accuracy against time\">" + plane.y_labels() +
         "<svg viewBox=\"0 0 " + size + " " + size + "\" preserveAspectRatio=\"none\">" + plane.grid() +
         target + curves + "</svg>" + plane.x_labels() + "</div>\n<ul class=\"legend\">" + legend + "</ul>\n";
}

std::string ideal_chart(const Comparison& comparison, const std::vector<Row>& ranking) {
  double most = 1;
  for (const Row& row : ranking) {
    if (row.percent_of_ideal) most = std::max(most, row.percent_of_ideal->most / 100);
  }
  const auto at = [&](double share) { return css_percent(share / most); };
  std::string rows;
  for (const Row& row : ranking) {
    if (!row.percent_of_ideal) continue;
    const double least = row.percent_of_ideal->least / 100, highest = row.percent_of_ideal->most / 100;
    rows += "<div class=\"name\">" + escaped(label(row.contender)) + "</div><div class=\"track\" title=\"" +
            fixed(100 * least, 1) + " to " + fixed(100 * highest, 1) + " %\"><i class=\"bar " +
            colour_of(comparison, row.contender) +
            "\" style=\"width:" + at(row.percent_of_ideal->median / 100) + "\"></i>";
    // How far the runs lie apart.
    if (highest > least)
      rows += "<i class=\"range\" style=\"left:" + at(least) + ";width:" + at(highest - least) + "\"></i>";
    rows += "<i class=\"full\" style=\"left:" + at(1) + "\"></i></div><div class=\"value\">" +
            fixed(row.percent_of_ideal->median, 1) + " %</div>";
  }
  if (rows.empty()) return "";
  std::string ticks;
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    ticks += axis_label("left", share / most, fixed(100 * share, 0) + " %");
  }
  return "<div class=\"bars\">" + rows + "<div></div><div class=\"along\">" + ticks +
         "</div><div></div></div>\n";
}

}  // namespace steelyard
