#include "app/tools/plan_text.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/report/terminal_text.h"
#include "app/report/text_table.h"
#include "core/error.h"
#include "protocol/sync_mode.h"

namespace steelyard {
namespace {

constexpr std::size_t most_rows = 10, few_rounds = 6;

std::string table(const std::vector<std::vector<std::string>>& rows, Alignment columns = Alignment::numbers) {
  std::string text;
  for (const std::string& line : aligned_lines(rows, columns)) text += "  " + line + "\n";
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
  std::vector<std::vector<std::string>> rows{{"worker", "samples/s alone", "latency ms", "link Mbit/s"}};
  for (const MeasuredWorker& it : measured) {
    const auto samples = static_cast<double>(batch);
    rows.push_back({it.name, fixed(1000 * samples / sim::on_curve(it.curve, samples), 0),
                    fixed(it.latency_ms, 2),
                    it.transfer_ms > 0 ? fixed(8000 * model_mb / it.transfer_ms, 1) : "no limit"});
  }
  return "measured, each worker alone, compute time only:\n" + table(rows);
}

std::string candidate_table(const std::vector<Candidate>& ranked) {
  std::vector<std::vector<std::string>> rows{{"mode", "samples/s", "efficiency", "workers"}};
  std::set<std::string> shown;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const Candidate& it = ranked[i];
    if (!shown.insert(it.mode.text()).second && i >= most_rows) continue;
    rows.push_back({it.mode.text(), fixed(it.rate, 0), fixed(100 * it.efficiency, 1) + " %",
                    joined(it.workers) + (it.resting.empty() ? "" : "; idle: " + joined(it.resting))});
  }
  return "predicted, under the policy steelyard, " + std::to_string(ranked.size()) +
         " candidates simulated; workers not listed are idle:\n" + table(rows, Alignment::numbers_and_words);
}

std::string worth_table(const std::vector<Candidate>& ranked, const std::vector<MeasuredWorker>& measured) {
  if (measured.size() < 2) return "";
  std::vector<std::vector<std::string>> rows{{"worker", "best with it", "best without", "gain"}};
  for (const MeasuredWorker& it : measured) {
    const double with = best_rate(ranked, it.name, true), without = best_rate(ranked, it.name, false);
    const double more = without > 0 ? 100 * (with / without - 1) : 0;
    rows.push_back(
        {it.name, fixed(with, 0), fixed(without, 0), (more >= 0 ? "+" : "") + fixed(more, 1) + " %"});
  }
  return "gain of each worker, in samples/s of the best candidate with it and without:\n" + table(rows);
}

std::string caution(const PlanMode& mode) {
  if (parse_sync(mode.sync).local == 0) return "";
  return mode.sync +
         " takes local steps between exchanges: its accuracy depends on batch and learning rates, so check "
         "it "
         "first (docs/benchmarks.md has figures).\n";
}

std::string other_mathematics_text(const Candidate& best, const Candidate& other) {
  return "if other mathematics is acceptable: " + other.mode.text() + " with " + joined(other.workers) +
         " is predicted to be " + fixed(other.rate / best.rate, 2) + " times as fast. " + caution(other.mode);
}

std::string checked_text(double predicted, const RunRecord& trial) {
  const double measured = steady_rate(trial);
  std::size_t rounds = 0;
  double seconds = 0;
  for (const RunRound& round : trial.rounds)
    if (round.train) ++rounds, seconds += round.seconds();
  const std::string told = "predicted " + fixed(predicted, 0) + " samples/s; a trial of " +
                           std::to_string(rounds) + " rounds in " + fixed(seconds, 1) + " s measured ";
  if (measured <= 0) return told + "none\n";
  return told + fixed(measured, 0) + ": " + fixed(100 * std::abs(predicted / measured - 1), 1) + " % off" +
         (rounds < few_rounds ? "; too few rounds for a reliable result, give more --seconds\n" : "\n");
}

Json candidate_json(const Candidate& it) {
  return {{"sync", it.mode.sync},  {"coded", it.mode.coded},        {"workers", it.workers},
          {"resting", it.resting}, {"samples_per_second", it.rate}, {"efficiency", it.efficiency}};
}

std::string candidates_json(const std::vector<Candidate>& ranked) {
  Json list = Json::array();
  for (const Candidate& it : ranked) list.push_back(candidate_json(it));
  return dump_json(Json{{"format", 1}, {"candidates", list}}, 2) + "\n";
}

Json plan_json(const std::vector<Candidate>& ranked, const std::vector<Candidate>& compared,
               const std::vector<MeasuredWorker>& measured, const Recommended& best,
               const Recommended* other) {
  const auto recommended = [](const Recommended& it) {
    Json json = candidate_json(*it.candidate);
    json["hosts_file"] = it.hosts_file;
    json["command"] = it.command;
    json["measured_samples_per_second"] = known_or_null(it.measured);
    return json;
  };
  Json candidates = Json::array(), workers = Json::array();
  for (const Candidate& it : ranked) candidates.push_back(candidate_json(it));
  for (const MeasuredWorker& it : measured)
    workers.push_back({{"name", it.name},
                       {"latency_ms", it.latency_ms},
                       {"transfer_ms", it.transfer_ms},
                       {"best_with", best_rate(compared, it.name, true)},
                       {"best_without", best_rate(compared, it.name, false)}});
  return {{"format", 1},
          {"workers", workers},
          {"candidates", candidates},
          {"best", recommended(best)},
          {"other_mathematics", other != nullptr ? recommended(*other) : Json()}};
}

}  // namespace steelyard
