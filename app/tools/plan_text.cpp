#include "app/tools/plan_text.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/json.h"
#include "core/near_match.h"
#include "app/report/page/page.h"
#include "app/report/terminal_text.h"

namespace steelyard {
namespace {

constexpr std::size_t most_rows = 10, few_rounds = 6;

// Two blanks between columns; the first is to the left, and so are names at the end, the others to the right.
std::string table(const std::vector<std::vector<std::string>>& rows, bool names_last = false) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - columns_of(row[i]), ' ');
      const bool left = i == 0 || (names_last && i + 1 == row.size());
      line += (i == 0 ? "" : "  ") + (left ? row[i] + blanks : blanks + row[i]);
    }
    text += "  " + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

double best_rate(const std::vector<Candidate>& ranked, const std::string& worker, bool with) {
  for (const Candidate& it : ranked)
    if ((std::ranges::find(it.workers, worker) != it.workers.end()) == with) return it.rate;
  return 0;
}

}  // namespace

std::string measured_table(const std::vector<MeasuredWorker>& measured, std::uint64_t batch,
                           double model_mb) {
  std::vector<std::vector<std::string>> rows{{"worker", "samples/s alone", "latency ms", "line Mbit/s"}};
  for (const MeasuredWorker& it : measured) {
    const auto samples = static_cast<double>(batch);
    rows.push_back({it.name, fixed(1000 * samples / sim::on_curve(it.curve, samples), 0),
                    fixed(it.latency_ms, 2),
                    it.transfer_ms > 0 ? fixed(8000 * model_mb / it.transfer_ms, 1) : "not felt"});
  }
  return "measured, each worker alone, computing only:\n" + table(rows);
}

std::string candidate_table(const std::vector<Candidate>& ranked) {
  std::vector<std::vector<std::string>> rows{{"mode", "samples/s", "efficiency", "workers"}};
  std::set<std::string> shown;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const Candidate& it = ranked[i];
    if (!shown.insert(it.mode.text()).second && i >= most_rows) continue;
    rows.push_back({it.mode.text(), fixed(it.rate, 0), fixed(100 * it.efficiency, 1) + " %",
                    joined(it.workers) + (it.resting.empty() ? "" : "; rests: " + joined(it.resting))});
  }
  return "predicted, under the policy steelyard, " + std::to_string(ranked.size()) +
         " ways simulated; who is not named rests:\n" + table(rows, true);
}

std::string worth_table(const std::vector<Candidate>& ranked, const std::vector<MeasuredWorker>& measured) {
  if (measured.size() < 2) return "";
  std::vector<std::vector<std::string>> rows{{"worker", "best with it", "best without", "worth"}};
  for (const MeasuredWorker& it : measured) {
    const double with = best_rate(ranked, it.name, true), without = best_rate(ranked, it.name, false);
    const double more = without > 0 ? 100 * (with / without - 1) : 0;
    rows.push_back(
        {it.name, fixed(with, 0), fixed(without, 0), (more >= 0 ? "+" : "") + fixed(more, 1) + " %"});
  }
  return "what each is worth, in samples/s of the best way with it and without:\n" + table(rows);
}

std::string caution(const PlanMode& mode) {
  if (parse_sync(mode.sync).local == 0) return "";
  return mode.sync +
         " takes steps of its own between exchanges: how well it learns depends on batch and rates, so try "
         "its "
         "accuracy first (docs/benchmarks.md has figures), or take the best way under bsp.\n";
}

std::string checked_text(double predicted, const RunRecord& trial) {
  const double measured = steady_rate(trial);
  std::size_t rounds = 0;
  double seconds = 0;
  for (const RunRound& round : trial.rounds)
    if (round.train) ++rounds, seconds += round.seconds();
  const std::string told = "predicted " + fixed(predicted, 0) + " samples/s, a trial of " +
                           std::to_string(rounds) + " rounds, " + fixed(seconds, 1) + " s, gave ";
  if (measured <= 0) return told + "none\n";
  return told + fixed(measured, 0) + ": " + fixed(100 * std::abs(predicted / measured - 1), 1) + " % off" +
         (rounds < few_rounds ? "; so few rounds say little, give more --seconds\n" : "\n");
}

std::string candidates_json(const std::vector<Candidate>& ranked) {
  Json list = Json::array();
  for (const Candidate& it : ranked) {
    list.push_back({{"sync", it.mode.sync},
                    {"coded", it.mode.coded},
                    {"workers", it.workers},
                    {"resting", it.resting},
                    {"samples_per_second", it.rate},
                    {"efficiency", it.efficiency}});
  }
  return dump_json(Json{{"candidates", list}}, 1) + "\n";
}

}  // namespace steelyard
