#include "app/report/run/lanes.h"

#include <algorithm>
#include <numeric>

#include "app/report/page/page.h"

namespace steelyard {
namespace {

constexpr std::size_t most_cells = 16'000;  // items times lanes
constexpr std::size_t around = 40;          // rounds that stay exact from the first in view on
constexpr std::size_t in_view = 12, slowest_told = 20;

const RunPart* part_of(const RunRound& round, std::uint32_t worker) {
  const auto found = std::ranges::find(round.parts, worker, &RunPart::worker);
  return found == round.parts.end() ? nullptr : &*found;
}

using TrainRounds = std::vector<const RunRound*>;

// Means over the rounds of an item in which the worker computed.
std::pair<Json, Json> cell_of(const TrainRounds& rounds, const LaneItem& item, std::uint32_t worker) {
  double share = 0, seconds = 0, present = 0;
  for (std::size_t i = item.first; i < item.first + item.count; ++i) {
    const RunPart* part = part_of(*rounds[i], worker);
    if (part == nullptr) continue;
    share += static_cast<double>(part->share);
    seconds += part->seconds;
    ++present;
  }
  if (present == 0) return {};
  return {brief(share / present), brief(1e3 * seconds / present)};
}

TextRows slowest_rounds(const RunRecord& record, TrainRounds rounds) {
  std::ranges::stable_sort(rounds, std::greater{}, &RunRound::seconds);
  rounds.resize(std::min(rounds.size(), slowest_told));
  TextRows rows{{"round", "began at", "ms", "slowest worker", "its ms", "its samples"}};
  for (const RunRound* round : rounds) {
    const auto last = std::ranges::max_element(round->parts, {}, &RunPart::seconds);
    if (last == round->parts.end()) continue;
    rows.push_back({grouped(static_cast<double>(round->round)), at_text(round->begin),
                    short_number(1e3 * round->seconds()), record.workers[last->worker],
                    short_number(1e3 * last->seconds), grouped(static_cast<double>(last->share))});
  }
  return rows;
}

void add_columns(Json& block, const RunRecord& record, const TrainRounds& rounds,
                 const std::vector<LaneItem>& items, const std::vector<std::uint32_t>& workers) {
  for (const char* column : {"names", "round", "count", "at", "ms", "slowest", "shares", "times"})
    block[column] = Json::array();
  for (const LaneItem& item : items) {
    double seconds = 0, slowest = 0;
    for (std::size_t i = item.first; i < item.first + item.count; ++i) {
      seconds += rounds[i]->seconds();
      slowest += rounds[i]->slowest();
    }
    const auto count = static_cast<double>(item.count);
    block["round"].push_back(rounds[item.first]->round);
    block["count"].push_back(item.count);
    block["at"].push_back(brief(rounds[item.first]->begin, 6));
    block["ms"].push_back(brief(1e3 * seconds / count));
    block["slowest"].push_back(brief(1e3 * slowest / count));
  }
  for (const std::uint32_t worker : workers) {
    Json shares = Json::array(), times = Json::array();
    for (const LaneItem& item : items) {
      auto [share, time] = cell_of(rounds, item, worker);
      shares.push_back(std::move(share));
      times.push_back(std::move(time));
    }
    block["names"].push_back(shown_line(record.workers[worker]));
    block["shares"].push_back(std::move(shares));
    block["times"].push_back(std::move(times));
  }
}

}  // namespace

std::vector<LaneItem> lane_items(const std::vector<double>& seconds, std::size_t view, std::size_t exact,
                                 std::size_t most) {
  const std::size_t count = seconds.size(), slow = exact / 5;
  std::vector<bool> alone(count, count <= most);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return seconds[i]; });
  for (std::size_t i = 0; i < std::min(slow, count); ++i) alone[order[i]] = true;
  for (std::size_t i = count - std::min(exact, count); i < count; ++i) alone[i] = true;
  for (std::size_t i = view; i < std::min(view + around, count); ++i) alone[i] = true;
  // An exact round among the others splits a mean into two.
  const std::size_t apart = exact + 2 * slow + around + 2, room = most > apart ? most - apart : 1;
  const std::size_t together = (count + room - 1) / room;
  std::vector<LaneItem> items;
  for (std::size_t i = 0; i < count; ++i) {
    const bool joins = !items.empty() && !alone[i] && !alone[i - 1] && items.back().count < together;
    if (joins)
      ++items.back().count;
    else
      items.push_back({i, 1});
  }
  return items;
}

Json lanes_block(const RunRecord& record, const std::vector<std::uint32_t>& workers, std::size_t first,
                 const std::string& label, std::size_t exact) {
  TrainRounds rounds;
  std::vector<double> seconds;
  std::size_t view = 0;
  for (std::size_t i = 0; i < record.rounds.size(); ++i) {
    if (!record.rounds[i].train) continue;
    if (i < first) view = rounds.size() + 1;
    rounds.push_back(&record.rounds[i]);
    seconds.push_back(record.rounds[i].seconds());
  }
  if (workers.empty() || rounds.empty()) return {};
  view = std::min(view, rounds.size() - 1);
  const std::vector<LaneItem> items =
      lane_items(seconds, view, exact, std::max(most_cells / workers.size(), 2 * exact));
  std::string note = "How the workers spent each round. The width of a round is its duration.";
  if (items.size() < rounds.size()) {
    note += " The last " + std::to_string(exact) + " rounds and the slowest " + std::to_string(exact / 5) +
            " are exact; the others are means of neighbouring rounds. rounds.jsonl has all " +
            grouped(static_cast<double>(rounds.size())) + ".";
  }
  Json block = table_block("lanes", "Round by round", slowest_rounds(record, rounds), note, true);
  block["type"] = "lanes";
  add_columns(block, record, rounds, items, workers);
  const auto at = std::ranges::find_if(items, [&](const LaneItem& it) { return it.first + it.count > view; });
  const std::size_t shown = std::min(in_view, items.size());
  block["view"] = std::min<std::size_t>(at - items.begin(), items.size() - shown);
  block["shown"] = shown;
  block["label"] = label;
  return block;
}

}  // namespace steelyard
