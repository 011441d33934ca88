#include "app/tools/profile_points.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/report/terminal_text.h"
#include "core/check.h"
#include "core/json.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr double noisy = 0.1;  // a spread above this is worth a word
constexpr int digits = 4;      // of times: more would be pretence

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Linear between the two neighbours.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

double rounded_points(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10, digits - 1 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

Json points_json(const std::vector<ProfilePoint>& points) {
  auto list = Json::array();
  for (const ProfilePoint& it : points) {
    list.push_back(
        {{"samples", it.samples}, {"ms", rounded_points(it.ms)}, {"spread", rounded_points(it.spread)}});
  }
  return list;
}

std::string line_text(const char* which, const ProfileLine& line) {
  return formatted("  %-9s time_ms = [%.4g, %.4g], wrong by %.0f %% at most\n", which, line.constant,
                   line.per_sample, 100 * line.error);
}

}  // namespace

std::vector<std::uint64_t> profile_sizes(std::uint64_t most, std::uint64_t grain) {
  most /= grain;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t power = 1; power <= most; power *= 2) {
    sizes.push_back(power);
    if (power >= 8) sizes.push_back(power + power / 2);
  }
  std::erase_if(sizes, [&](std::uint64_t size) { return size > most; });
  if (sizes.empty() || sizes.back() != most) sizes.push_back(most);
  for (std::uint64_t& size : sizes) size *= grain;
  return sizes;
}

ProfilePoint profile_point(std::uint64_t samples, std::vector<double> seconds) {
  CHECK(!seconds.empty(), "a point without measurements");
  std::ranges::sort(seconds);
  const double middle = quantile(seconds, 0.5);
  const double spread = middle > 0 ? (quantile(seconds, 0.75) - quantile(seconds, 0.25)) / middle : 0;
  return {samples, 1000 * middle, spread};
}

// Least squares on (a + b x - t) / t, where each point counts as much as any other. A term that would be
// negative is 0, and the other alone is fitted.
ProfileLine profile_line(const std::vector<ProfilePoint>& points) {
  double one = 0, x = 0, xx = 0, t = 0, tx = 0;
  for (const ProfilePoint& it : points) {
    if (it.ms <= 0) continue;
    const double u = 1 / it.ms, v = static_cast<double>(it.samples) / it.ms;
    one += u * u, x += u * v, xx += v * v, t += u, tx += v;
  }
  ProfileLine line;
  if (xx == 0) return line;
  const double determinant = one * xx - x * x;
  if (determinant > 1e-12 * one * xx) {
    line.constant = (t * xx - tx * x) / determinant;
    line.per_sample = (one * tx - x * t) / determinant;
  }
  if (line.constant <= 0) line = {0, tx / xx, 0};
  if (line.per_sample < 0) line = {t / one, 0, 0};
  for (const ProfilePoint& it : points) {
    const double guess = line.constant + line.per_sample * static_cast<double>(it.samples);
    if (it.ms > 0) line.error = std::max(line.error, std::abs(guess / it.ms - 1));
  }
  return line;
}

std::string profile_table(const Profile& profile) {
  const bool many = !profile.together.empty();
  std::string head = profile.model + " on " + profile.data + ", " + profile.device + ", ";
  if (profile.threads > 1) head += std::to_string(profile.threads) + " threads, ";
  if (profile.precision != "float32") head += profile.precision + ", ";
  head += profile.name + ": median of " + std::to_string(profile.repeats);
  std::string text = wrapped(shown_line(head), summary_width, 2) + "\n";
  text += "          alone                         ";
  text += many ? formatted("each of %u together\n", profile.workers) : "\n";
  text += " samples        ms  samples/s  spread";
  text += many ? "          ms  samples/s  spread   slower\n" : "\n";
  double worst = 0;
  const auto cells = [&](const ProfilePoint& it) {
    worst = std::max(worst, it.spread);
    const double speed = it.ms > 0 ? 1000 * static_cast<double>(it.samples) / it.ms : 0;
    return formatted("%10.3f %10.0f %5.1f %%", it.ms, speed, 100 * it.spread);
  };
  for (std::size_t i = 0; i < profile.alone.size(); ++i) {
    const ProfilePoint& alone = profile.alone[i];
    text += formatted("%8llu", static_cast<unsigned long long>(alone.samples)) + cells(alone);
    if (many) {
      const ProfilePoint& all = profile.together[i];
      text += "  " + cells(all) + formatted(" %7.2fx", alone.ms > 0 ? all.ms / alone.ms : 0);
    }
    text += "\n";
  }
  text += "as a line, for scenarios and for policy.static.curves_ms:\n";
  text += line_text("alone", profile_line(profile.alone));
  if (many) text += line_text("together", profile_line(profile.together));
  if (worst > noisy) {
    const std::string advice = formatted(
        "The times are noisy: half of the measurements of a size lay within %.0f %%. Let nothing else run "
        "here, or raise --repeats.",
        100 * worst);
    text += wrapped(advice, summary_width, 0) + "\n";
  }
  return text;
}

std::string profile_json(const Profile& profile) {
  Json json;
  json["steelyard_profile"] = 1;
  json["name"] = profile.name;
  json["device"] = profile.device;
  json["threads"] = profile.threads;
  json["precision"] = profile.precision;
  json["model"] = profile.model;
  json["data"] = profile.data;
  json["workers"] = profile.workers;
  json["repeats"] = profile.repeats;
  json["alone"] = points_json(profile.alone);
  json["together"] = points_json(profile.together);
  return dump_json(json, 1) + "\n";
}

}  // namespace steelyard
