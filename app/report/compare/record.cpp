#include "app/report/compare/record.h"

#include <algorithm>
#include <map>

#include "core/json.h"
#include "core/text.h"
#include "protocol/sync_mode.h"

namespace steelyard {
namespace {

Json list(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_array() ? *found : Json::array();
}

// Sums over one run, line by line.
class RunRecordReader {
 public:
  explicit RunRecordReader(bool barrier) : barrier_(barrier) {}

  void read(const Json& line) {
    const double at = number_at(line, "at_ms", -1) / 1e3;
    if (at < 0) return;
    if (text_at(line, "purpose") == "evaluate") {
      evaluating_ += number_at(line, "round_ms", 0) / 1e3;
      const double accuracy = number_at(line, "accuracy", -1);
      if (accuracy < 0) return;
      trial_.accuracy = accuracy;
      trial_.evaluations.push_back({at - evaluating_, trial_.updates, accuracy, epochs_});
    } else {
      trial_.seconds = at - evaluating_;
      trial_.samples += number_at(line, "end", 0) - number_at(line, "begin", 0) - number_at(line, "holes", 0);
      epochs_ = static_cast<std::uint64_t>(std::max(number_at(line, "epoch", -1), -1.0) + 1);
      add_workers(line);
    }
  }

  Trial finish() {
    for (const auto& [name, speed] : speeds_) trial_.workers.push_back(speed);
    return std::move(trial_);
  }

 private:
  void add_workers(const Json& line) {
    const Json names = list(line, "workers"), shares = list(line, "shares"), times = list(line, "compute_ms");
    std::uint64_t pieces = 0;
    for (std::size_t i = 0; i < std::min({names.size(), shares.size(), times.size()}); ++i) {
      if (!names[i].is_string() || !shares[i].is_number() || !times[i].is_number()) continue;
      const std::string name = names[i];
      WorkerSpeed& speed = speeds_.try_emplace(name, WorkerSpeed{name, 0, 0}).first->second;
      speed.samples += shares[i].get<double>();
      speed.seconds += times[i].get<double>() / 1e3;
      pieces += shares[i].get<double>() > 0 ? 1 : 0;
    }
    trial_.updates += barrier_ ? 1 : pieces;
  }

  const bool barrier_;
  Trial trial_;
  double evaluating_ = 0;     // seconds
  std::uint64_t epochs_ = 0;  // up to that of the last round
  std::map<std::string, WorkerSpeed> speeds_;
};

}  // namespace

bool has_barrier(const std::string& sync) { return !is_sync(sync) || parse_sync(sync).has_versions(); }

Trial trial_of(std::string_view rounds, const std::string& result, const std::string& sync) {
  RunRecordReader reader(has_barrier(sync));
  for_each_line(rounds, [&](std::string_view text) {
    const Json line = parse_json(text);
    if (line.is_object()) reader.read(line);
  });
  Trial trial = reader.finish();
  const Json verdict = parse_json(result);
  if (!verdict.is_object()) {
    trial.failure = "it has no result";
    return trial;
  }
  if (const std::string outcome = text_at(verdict, "outcome"); outcome != "finished") {
    const std::string text = text_at(verdict, "text");
    trial.failure = outcome + (text.empty() ? "" : ": " + text);
  } else if (trial.samples <= 0) {
    trial.failure = "nothing was trained";
  }
  if (has_barrier(sync)) {
    trial.percent_of_ideal = number_at(verdict, "percent_of_ideal", -1);
    trial.efficiency = number_at(verdict, "efficiency", -1);
  }
  return trial;
}

std::string fastest_worker(const Comparison& comparison) {
  std::map<std::string, WorkerSpeed> sums;
  for (const Entry& entry : comparison.entries) {
    for (const Trial& trial : entry.trials) {
      for (const WorkerSpeed& it : trial.workers) {
        sums[it.name].samples += it.samples;
        sums[it.name].seconds += it.seconds;
      }
    }
  }
  std::string best;
  double best_rate = 0;
  for (const auto& [name, sum] : sums) {
    const double rate = sum.seconds > 0 ? sum.samples / sum.seconds : 0;
    if (rate > best_rate) {
      best = name;
      best_rate = rate;
    }
  }
  return best;
}

}  // namespace steelyard
