#include "app/report/run/run_plots.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "app/report/page/page.h"
#include "app/report/page/plot.h"

namespace steelyard {
namespace {

constexpr std::size_t points = 300;  // of a line: more than a screen shows, less than a page bears
constexpr std::size_t colours = 8;   // of the style sheet

std::string colour(std::size_t i) { return "w" + std::to_string(i % colours); }

double length_of(const RunRecord& record) { return record.rounds.empty() ? 0 : record.rounds.back().end; }

using OfRound = std::function<double(const RunRound&)>;
Series over_rounds(const RunRecord& record, const std::string& name, const std::string& kind,
                   const OfRound& value) {
  Series it{name, kind, {}, {}, {}, {}, false};
  for (const RunRound& round : record.rounds) {
    if (!round.train) continue;
    it.x.push_back(round.end);
    it.y.push_back(value(round));
  }
  return thinned(std::move(it), points);
}

Series evaluations(const RunRecord& record, const std::string& name, const std::string& kind) {
  Series it{name, kind, {}, {}, {}, {}, true};
  for (const RunRound& round : record.rounds) {
    if (round.train) continue;
    it.x.push_back(round.end);
    it.y.push_back(100 * round.accuracy);
  }
  return thinned(std::move(it), points);
}

// Of some rounds in a row: where pushes are applied at once, rounds end close behind each other or far apart.
Series speed_of(const RunRecord& record) {
  Series it{"samples a second", "work", {}, {}, {}, {}, false};
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

using OfPart = std::function<double(const RunPart&)>;
std::string by_worker(const RunRecord& record, const std::vector<std::uint32_t>& workers, Plot plot,
                      const OfPart& value) {
  for (std::size_t i = 0; i < workers.size(); ++i) {
    plot.series.push_back(
        over_rounds(record, record.workers[workers[i]], colour(i), [&](const RunRound& round) {
          const auto part = std::ranges::find(round.parts, workers[i], &RunPart::worker);
          return part == round.parts.end() ? NAN : value(*part);
        }));
  }
  return drawn(plot);
}

// Mean of the workers.
double waiting(const RunRound& round) {
  if (round.parts.empty() || round.seconds() <= 0) return NAN;
  const double slowest = round.slowest();
  double sum = 0;
  for (const RunPart& part : round.parts) sum += slowest - part.seconds;
  return std::min(100 * sum / static_cast<double>(round.parts.size()) / round.seconds(), 100.0);
}

std::string use_of_time(const ReportedRun& run, Plot plot) {
  if (!run.terms.barrier) return "";
  plot.most = 100;
  plot.cap = 120;  // after an abrupt change a round may seem better than its ideal
  plot.series = {
      over_rounds(run.record, "of the ideal", "work",
                  [](const RunRound& it) { return it.percent_of_ideal < 0 ? NAN : it.percent_of_ideal; }),
      over_rounds(run.record, "workers wait", "stand", waiting),
      over_rounds(run.record, "exchange", "talk", [](const RunRound& it) {
        return it.seconds() <= 0 ? NAN : std::max(100 * (1 - it.slowest() / it.seconds()), 0.0);
      })};
  return drawn(plot);
}

}  // namespace

std::string run_plots(const ReportedRun& run, const std::vector<std::uint32_t>& workers,
                      const std::vector<double>& marks) {
  const RunRecord& record = run.record;
  const double to = length_of(record);
  const auto plot = [&](const std::string& title, const std::string& about, const std::string& unit) {
    return Plot{.title = title, .about = about, .unit = unit, .to = to, .marks = marks};
  };
  std::string text = by_worker(
      record, workers,
      plot("Shares", "Samples of a round that each worker computed; the last round of an epoch may be short.",
           ""),
      [](const RunPart& it) { return static_cast<double>(it.share); });
  text += by_worker(record, workers,
                    plot("Compute time",
                         std::string("How long each worker computed in a round.") +
                             (run.terms.barrier ? " Lines that lie apart are workers that wait." : ""),
                         " ms"),
                    [](const RunPart& it) { return 1e3 * it.seconds; });
  text += use_of_time(
      run, plot("Use of the time",
                "How close each round came to the one with the best split (100 % is ideal), and what "
                "part of it workers waited, on average, and exchanged.",
                " %"));
  Plot speed = plot("Speed", "Samples a second of all workers together.", "");
  speed.series = {speed_of(record)};
  Plot loss = plot("Loss", "Mean over the samples of a round.", "");
  loss.series = {over_rounds(record, "training", "work", [](const RunRound& it) { return it.loss; })};
  Plot accuracy = plot("Accuracy", "Share of right answers.", " %");
  accuracy.series = {
      over_rounds(record, "training", "talk", [](const RunRound& it) { return 100 * it.accuracy; }),
      evaluations(record, "test set", "work")};
  return text + drawn(speed) + drawn(loss) + drawn(accuracy);
}

std::string accuracy_of_all(const std::vector<ReportedRun>& runs) {
  Plot plot{.title = "Accuracy of all runs", .about = "On the test set.", .unit = " %"};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    plot.to = std::max(plot.to, length_of(runs[i].record));
    Series it = evaluations(runs[i].record, short_path(runs[i], runs), colour(i));
    if (!it.x.empty()) plot.series.push_back(std::move(it));
  }
  return plot.series.size() < 2 ? "" : drawn(plot);
}

}  // namespace steelyard
