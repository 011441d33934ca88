#include "app/report/run/run_charts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "app/report/page/page.h"

namespace steelyard {
namespace {

constexpr double accuracy_span = 10;  // points that an axis of accuracy covers at least

using OfRound = std::function<double(const RunRound&)>;
Series over_rounds(const RunRecord& record, const std::string& name, const Json& colour, std::size_t points,
                   const OfRound& value, bool train = true) {
  Series it{name, colour, {}, {}, {}, {}, !train};
  for (const RunRound& round : record.rounds) {
    if (round.train != train) continue;
    it.x.push_back(round.end);
    it.y.push_back(value(round));
  }
  return thinned(std::move(it), points);
}

double loss_of(const RunRound& round) { return round.loss; }
double accuracy_percent(const RunRound& round) { return 100 * round.accuracy; }

double waiting_percent(const RunRound& round) {  // mean of the workers
  if (round.parts.empty() || round.seconds() <= 0) return NAN;
  const double slowest = round.slowest();
  double sum = 0;
  for (const RunPart& part : round.parts) sum += slowest - part.seconds;
  return std::min(100 * sum / static_cast<double>(round.parts.size()) / round.seconds(), 100.0);
}

double exchange_percent(const RunRound& round) {
  return round.seconds() <= 0 ? NAN : std::max(100 * (1 - round.slowest() / round.seconds()), 0.0);
}

// An abrupt change may make a single round look better than its ideal.
double ideal_percent(const RunRound& round) {
  return round.percent_of_ideal < 0 ? NAN : std::min(round.percent_of_ideal, 100.0);
}

std::vector<Series> series_by_worker(const RunRecord& record, const std::vector<std::uint32_t>& workers,
                                     std::size_t points, double (*value)(const RunPart&)) {
  std::vector<Series> series;
  for (const std::uint32_t worker : workers) {
    const auto of_round = [&](const RunRound& round) {
      const auto part = std::ranges::find(round.parts, worker, &RunPart::worker);
      return part == round.parts.end() ? NAN : value(*part);
    };
    const int colour = static_cast<int>(series.size());
    series.push_back(over_rounds(record, record.workers[worker], colour, points, of_round));
  }
  return series;
}

// The workers of a script do not count correct answers in training.
bool counts_correct_answers(const RunRecord& record) {
  return std::ranges::any_of(record.rounds,
                             [](const RunRound& round) { return round.train && round.accuracy > 0; });
}

// False if a script's score gives only a loss.
bool has_accuracy(const RunRecord& record) {
  return std::ranges::none_of(record.rounds, [](const RunRound& round) {
    return !round.train && std::isfinite(round.loss) && !std::isfinite(round.accuracy);
  });
}

// Over several rounds: where pushes are applied at once, rounds end in bursts.
Series speed_of(const RunRecord& record, std::size_t points) {
  Series it{"samples/s", "work", {}};
  const auto train = static_cast<std::size_t>(std::ranges::count_if(record.rounds, &RunRound::train));
  const std::size_t together =
      std::max<std::size_t>(train / (points / 2), std::min<std::size_t>(5, train / 20 + 1));
  double samples = 0, seconds = 0;
  std::size_t rounds = 0;
  for (const RunRound& round : record.rounds) {
    if (!round.train) continue;
    samples += static_cast<double>(round.samples());
    seconds += round.seconds();
    if (++rounds < together) continue;
    it.x.push_back(round.end);
    it.y.push_back(seconds > 0 ? samples / seconds : NAN);
    samples = seconds = 0;
    rounds = 0;
  }
  return thinned(std::move(it), points);
}

}  // namespace

std::vector<Json> run_charts(const ReportedRun& run, const std::vector<std::uint32_t>& workers,
                             const std::vector<std::pair<double, std::string>>& marks, std::size_t points) {
  std::vector<Json> blocks;
  const auto add = [&](Chart chart, std::vector<Series> series) {
    chart.series = std::move(series);
    chart.marks = marks;
    blocks.push_back(chart_block(chart));
  };
  const auto rounds = [&](const char* name, const char* colour, const OfRound& value, bool train = true) {
    return over_rounds(run.record, name, colour, points, value, train);
  };
  const auto by_worker = [&](double (*value)(const RunPart&)) {
    return series_by_worker(run.record, workers, points, value);
  };
  add({.id = "loss",
       .title = "Loss",
       .note = "Mean over the samples of a round, and over the test set.",
       .unit = ""},
      {rounds("training", "work", loss_of), rounds("test", "stand", loss_of, false)});
  std::vector<Series> accuracies;
  if (counts_correct_answers(run.record)) accuracies.push_back(rounds("training", "work", accuracy_percent));
  accuracies.push_back(rounds("test", "stand", accuracy_percent, false));
  if (has_accuracy(run.record)) {
    add({.id = "accuracy",
         .title = "Accuracy",
         .note = "Correct answers among the samples of a round, and in the test set.",
         .unit = " %",
         .span = accuracy_span},
        accuracies);
  }
  add({.id = "shares",
       .title = "Shares",
       .note = "Samples of a round. The last round of an epoch may be short.",
       .unit = "",
       .zero = true},
      by_worker([](const RunPart& it) { return static_cast<double>(it.share); }));
  add({.id = "times",
       .title = "Compute time",
       .note = "How long each worker computed in a round.",
       .unit = " ms",
       .zero = true},
      by_worker([](const RunPart& it) { return 1e3 * it.seconds; }));
  if (run.terms.barrier) {
    add({.id = "use",
         .title = "Use of the time",
         .note = "100 % of ideal: the best split of each round. Waiting, exchange: of its time.",
         .unit = " %",
         .zero = true,
         .span = 100},
        {rounds("percent of ideal", "work", ideal_percent), rounds("workers wait", "stand", waiting_percent),
         rounds("exchange", "talk", exchange_percent)});
  }
  add({.id = "speed",
       .title = "Speed",
       .note = "Samples/s of all workers together.",
       .unit = "",
       .zero = true},
      {speed_of(run.record, points)});
  return blocks;
}

Json accuracy_of_all(const std::vector<ReportedRun>& runs, const std::string& note) {
  std::set<int> methods;
  for (const ReportedRun& run : runs) methods.insert(method_colour(run.policy, run.sync));
  const bool distinct = methods.size() == runs.size();
  Chart it{.id = "accuracy", .title = "Test accuracy", .note = note, .unit = " %", .span = accuracy_span};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int colour = distinct ? method_colour(runs[i].policy, runs[i].sync) : static_cast<int>(i);
    Series line =
        over_rounds(runs[i].record, short_path(runs[i], runs), colour, 500, accuracy_percent, false);
    if (!line.x.empty()) it.series.push_back(std::move(line));
  }
  return it.series.size() < 2 ? Json() : chart_block(it);
}

}  // namespace steelyard
