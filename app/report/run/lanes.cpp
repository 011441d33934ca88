#include "app/report/run/lanes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/report/page/page.h"
#include "app/report/terminal_text.h"
#include "core/json.h"

namespace steelyard {
namespace {

constexpr std::size_t most_cells = 12000;  // rounds x lanes in a page
constexpr std::size_t in_a_row = 40;       // rounds of a stretch
constexpr std::size_t in_view = 12;        // rounds at first
constexpr double picture_width = 1e6;      // of the picture; fine enough for a part of any round
constexpr int lane_height = 28;            // pixels

const RunPart* part_of(const RunRound& round, std::uint32_t worker) {
  const auto found = std::ranges::find(round.parts, worker, &RunPart::worker);
  return found == round.parts.end() ? nullptr : &*found;
}

// Horizontal strokes of one lane; each moves on from where the last one ended.
class Strokes {
 public:
  explicit Strokes(long y) : y_(y) {}
  void add(long from, long to) {
    if (to <= from) return;
    path_ += path_.empty() ? "M" + std::to_string(from) + " " + std::to_string(y_)
                           : "m" + std::to_string(from - at_) + " 0";
    path_ += "h" + std::to_string(to - from);
    at_ = to;
  }
  [[nodiscard]] std::string as(const std::string& kind) const {
    return path_.empty() ? "" : "<path class=\"" + kind + "\" d=\"" + path_ + "\"/>";
  }

 private:
  long y_, at_ = 0;
  std::string path_;
};

// The kept rounds behind each other, as long as they took.
struct LanesLayout {
  std::vector<const RunRound*> rounds;
  std::vector<long> starts;  // of each, and the end of the last
  double scale = 1;          // units of the picture in a second

  LanesLayout(const RunRecord& record, const std::vector<std::size_t>& kept) {
    double seconds = 0;
    for (const std::size_t i : kept) seconds += record.rounds[i].seconds();
    scale = picture_width / std::max(seconds, 1e-9);
    double at = 0;
    for (const std::size_t i : kept) {
      rounds.push_back(&record.rounds[i]);
      starts.push_back(place(at));
      at += record.rounds[i].seconds();
    }
    starts.push_back(place(at));
  }
  // A record that was damaged may have any times.
  [[nodiscard]] long place(double seconds) const {
    return std::lround(std::clamp(seconds * scale, 0.0, picture_width));
  }
  [[nodiscard]] long within(std::size_t i, double seconds) const {
    return std::min(starts[i] + place(seconds), starts[i + 1]);
  }
};

std::string picture(const LanesLayout& layout, const std::vector<std::uint32_t>& workers, std::size_t from,
                    std::size_t to) {
  std::string paths, bounds;
  for (const long start : layout.starts) bounds += "M" + std::to_string(start) + " 0v1000";
  for (std::size_t lane = 0; lane < workers.size(); ++lane) {
    const long y = static_cast<long>(lane) * lane_height + lane_height / 2;
    Strokes computing(y), waiting(y), rest(y);
    for (std::size_t i = 0; i < layout.rounds.size(); ++i) {
      const RunPart* part = part_of(*layout.rounds[i], workers[lane]);
      if (part == nullptr) continue;
      const long done = layout.within(i, part->seconds);
      const long all = layout.within(i, layout.rounds[i]->slowest());
      computing.add(layout.starts[i], done);
      waiting.add(done, all);
      rest.add(all, layout.starts[i + 1]);
    }
    paths += rest.as("exchanging") + waiting.as("waiting") + computing.as("computing");
  }
  const long left = layout.starts[from], right = layout.starts[to];
  const std::string height = std::to_string(static_cast<long>(workers.size()) * lane_height);
  return "<svg viewBox=\"" + std::to_string(left) + " 0 " + std::to_string(std::max(right - left, 1L)) + " " +
         height + "\" preserveAspectRatio=\"none\" style=\"height:" + height +
         "px\" aria-hidden=\"true\"><path class=\"bounds\" d=\"" + bounds + "\"/>" + paths + "</svg>";
}

// For the values under the pointer. Hundredths of a millisecond are as fine as anybody reads them.
std::string data_of(const LanesLayout& layout, const RunRecord& record,
                    const std::vector<std::uint32_t>& workers) {
  const auto ms = [](double seconds) { return std::round(seconds * 1e5) / 1e2; };
  Json names = Json::array(), numbers = Json::array(), at = Json::array(), lengths = Json::array(),
       shares = Json::array(), times = Json::array();
  for (const RunRound* round : layout.rounds) {
    numbers.push_back(round->round);
    at.push_back(std::round(round->begin * 1e3) / 1e3);
    lengths.push_back(ms(round->seconds()));
  }
  for (const std::uint32_t worker : workers) {
    names.push_back(shown_line(record.workers[worker]));
    Json share = Json::array(), time = Json::array();
    for (const RunRound* round : layout.rounds) {
      const RunPart* part = part_of(*round, worker);
      share.push_back(part != nullptr ? Json(part->share) : Json());
      time.push_back(part != nullptr ? Json(ms(part->seconds)) : Json());
    }
    shares.push_back(share);
    times.push_back(time);
  }
  Json slowest = Json::array();  // of all workers, also those without a lane
  for (const RunRound* round : layout.rounds) slowest.push_back(ms(round->slowest()));
  const Json all = {{"x", layout.starts}, {"round", numbers}, {"at", at},       {"ms", lengths},
                    {"names", names},     {"shares", shares}, {"times", times}, {"slowest", slowest}};
  std::string text;
  // No name can end the element.
  for (const char c : dump_json(all)) text += c == '<' ? "\\u003c" : std::string(1, c);
  return "<script type=\"application/json\">" + text + "</script>";
}

std::string round_labels(const LanesLayout& layout, std::size_t from, std::size_t to) {
  std::string text = "<div class=\"along\">";
  const double left = static_cast<double>(layout.starts[from]),
               span = std::max(static_cast<double>(layout.starts[to]) - left, 1.0);
  const std::size_t step = std::max<std::size_t>(1, (to - from) / 6);
  for (std::size_t i = from; i < to; i += step) {
    text += axis_label("left", (static_cast<double>(layout.starts[i]) - left) / span,
                       std::to_string(layout.rounds[i]->round));
  }
  return text + "</div><p class=\"axis\">number of the round; as wide as it took</p>";
}

std::string controls(std::size_t from, std::size_t rounds, std::size_t shown) {
  const std::string last = std::to_string(rounds > shown ? rounds - shown : 0);
  return "<div class=\"controls\" hidden><label>go through the rounds <input type=\"range\" min=\"0\" "
         "max=\"" +
         last + "\" value=\"" + std::to_string(from) +
         "\"></label><button type=\"button\" data-zoom=\"0.5\">fewer rounds</button><button type=\"button\" "
         "data-zoom=\"2\">more rounds</button></div>";
}

}  // namespace

std::vector<std::size_t> kept_rounds(const RunRecord& record, std::size_t most, std::size_t first) {
  std::vector<std::size_t> train;
  std::size_t middle = 0;  // where `first` is among them
  for (std::size_t i = 0; i < record.rounds.size(); ++i) {
    if (!record.rounds[i].train) continue;
    if (i <= first) middle = train.size();
    train.push_back(i);
  }
  most = std::max(most, 2 * in_a_row);
  if (train.size() <= most) return train;
  std::set<std::size_t> kept;
  const auto keep = [&](std::size_t from) {
    from = std::min(from, train.size() - in_a_row);
    for (std::size_t i = 0; i < in_a_row; ++i) kept.insert(train[from + i]);
  };
  const std::size_t stretches = most / in_a_row - 1;
  for (std::size_t i = 0; i < stretches; ++i) {
    keep(stretches < 2 ? 0 : i * (train.size() - in_a_row) / (stretches - 1));
  }
  keep(middle);
  return {kept.begin(), kept.end()};
}

std::string lanes(const RunRecord& record, const std::vector<std::uint32_t>& workers, std::size_t first) {
  if (workers.empty()) return "";
  const std::vector<std::size_t> kept = kept_rounds(record, most_cells / workers.size(), first);
  if (kept.empty()) return "";
  const LanesLayout layout(record, kept);
  const std::size_t shown = std::min(in_view, kept.size());
  const auto at = static_cast<std::size_t>(std::ranges::lower_bound(kept, first) - kept.begin());
  const std::size_t from = std::min(at, kept.size() - shown), to = from + shown;
  std::string names;
  for (const std::uint32_t worker : workers) names += "<span>" + escaped(record.workers[worker]) + "</span>";
  std::size_t train = 0;
  for (const RunRound& round : record.rounds) train += round.train ? 1 : 0;
  std::string text =
      "<ul class=\"legend\"><li><i class=\"key computing\"></i>computing</li><li><i class=\"key "
      "waiting\"></i>waiting for the slowest worker</li><li><i class=\"key exchanging\"></i>exchange of "
      "parameters and gradients</li></ul>\n";
  text +=
      "<div class=\"lanes\" role=\"group\" tabindex=\"0\" aria-label=\"rounds one by one\"><div "
      "class=\"names\">" +
      names + "</div><div class=\"view\">" + picture(layout, workers, from, to) +
      round_labels(layout, from, to) + "</div>" + data_of(layout, record, workers) + "</div>\n" +
      controls(from, kept.size(), shown);
  if (kept.size() < train) {
    text += "<p class=\"soft\">" + std::to_string(kept.size()) + " of " + std::to_string(train) +
            " rounds are drawn: stretches of " + std::to_string(in_a_row) +
            " rounds, evenly spaced, and those at the longest waiting. All are in rounds.jsonl.</p>\n";
  }
  return text;
}

}  // namespace steelyard
