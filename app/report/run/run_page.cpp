#include "app/report/run/run_page.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "app/report/page/page.h"
#include "app/report/page/plot.h"
#include "app/report/run/changes.h"
#include "app/report/run/finding_text.h"
#include "app/report/run/lanes.h"
#include "app/report/run/status_text.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr std::size_t points = 300;  // of a line: more than a screen shows, less than a page bears

double length_of(const RunRecord& record) { return record.rounds.empty() ? 0 : record.rounds.back().end; }

using OfRound = std::function<double(const RunRound&)>;
Series over_rounds(const RunRecord& record, const std::string& name, const std::string& kind,
                   const OfRound& value, bool train = true) {
  Series it{name, kind, {}, {}, {}, {}, !train};
  for (const RunRound& round : record.rounds) {
    if (round.train != train) continue;
    it.x.push_back(round.end);
    it.y.push_back(value(round));
  }
  return thinned(std::move(it), points);
}

Series evaluations(const RunRecord& record, const std::string& name, const std::string& kind) {
  return over_rounds(
      record, name, kind, [](const RunRound& it) { return 100 * it.accuracy; }, false);
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
        over_rounds(record, record.workers[workers[i]], nth_colour(i), [&](const RunRound& round) {
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

constexpr std::size_t most_lanes = 24, most_lines = 16, most_rows = 200;
constexpr std::ptrdiff_t few_marks = 12;  // of a kind: more uprights than that hide the lines

std::string paragraph(const std::string& text) { return "<p class=\"soft\">" + escaped(text) + "</p>\n"; }

// Those that the others waited for longest, then in the order of names.
std::vector<std::uint32_t> most_interesting(const Finding& finding, std::size_t most) {
  std::vector<std::uint32_t> workers(finding.workers.size());
  std::iota(workers.begin(), workers.end(), 0);
  std::ranges::stable_sort(workers, std::greater{},
                           [&](std::uint32_t it) { return finding.workers[it].held; });
  workers.resize(std::min(workers.size(), most));
  std::ranges::sort(workers);
  return workers;
}

std::string tile(const std::string& value, const std::string& what) {
  return "<li><b>" + value + "</b>" + what + "</li>";
}

std::string tiles(const ReportedRun& run, const Finding& finding) {
  const RunResult& result = run.record.result;
  double ideal = result.percent_of_ideal, rate = result.samples_per_second, accuracy = result.accuracy;
  if (ideal < 0 && finding.ideal_seconds >= 0) ideal = 100 * finding.ideal_seconds / finding.seconds;
  if (rate < 0 && finding.seconds > 0) rate = finding.samples / finding.seconds;
  for (const RunRound& round : run.record.rounds) {
    if (!round.train && !result.known) accuracy = round.accuracy;
  }
  std::string text = "<ul class=\"tiles\">";
  if (ideal >= 0)
    text += tile(fixed(ideal, 1) + " %", "of the ideal: the speed with the best split is 100 %");
  if (rate >= 0) text += tile(fixed(rate, 0), "samples a second");
  if (accuracy >= 0) text += tile(percent(accuracy, 2), "right answers on the test set");
  text += tile(at_text(finding.seconds), "of training, " + std::to_string(finding.rounds) + " rounds");
  if (finding.barrier && finding.workers.size() > 1) {
    text += tile(percent(finding.waiting), "of a worker's time is waiting for the slowest") +
            tile(percent(finding.exchange), "of the time is exchange");
  }
  return text + "</ul>\n";
}

std::string spent_bar(const WorkerFinding& it) {
  const double all = std::max(it.computing + it.waiting + it.exchanging, 1e-9);
  const auto part = [&](const char* kind, double seconds) {
    return std::string("<i class=\"") + kind + "\" style=\"width:" + fixed(100 * seconds / all, 1) +
           "%\"></i>";
  };
  return "<div class=\"track\">" + part("computing", it.computing) + part("waiting", it.waiting) +
         part("exchanging", it.exchanging) + "</div><div class=\"value\">waits " + percent(it.waiting / all) +
         "</div>";
}

std::string by_worker(const RunRecord& record, const Finding& finding,
                      const std::vector<std::uint32_t>& workers) {
  std::string text = finding.barrier ? "<h2>Who waited for whom</h2>\n" : "<h2>Workers</h2>\n";
  if (finding.barrier) {
    text +=
        "<p class=\"soft\">Of its time each worker spent so much computing, waiting for the slowest, and "
        "with the exchange. Who waits little is who the others wait for.</p>\n<ul class=\"legend\"><li><i "
        "class=\"key "
        "computing\"></i>computing</li><li><i class=\"key waiting\"></i>waiting</li><li><i class=\"key "
        "exchanging\"></i>exchange</li></ul>\n<div class=\"spent\">";
    for (const std::uint32_t i : workers) {
      text += "<div class=\"name\">" + escaped(record.workers[i]) + "</div>" + spent_bar(finding.workers[i]);
    }
    text += "</div>\n";
  }
  std::vector<std::vector<std::string>> rows{{"worker", "samples a round", "samples/s, computing",
                                              "ms a round", "rounds", "was the last",
                                              "others waited for it"}};
  if (!finding.barrier) rows[0].resize(5);
  for (std::size_t i = 0; i < std::min(finding.workers.size(), most_rows); ++i) {
    const WorkerFinding& it = finding.workers[i];
    const auto rounds = static_cast<double>(std::max<std::uint64_t>(it.rounds, 1));
    rows.push_back({record.workers[i], fixed(it.samples / rounds, 1), fixed(it.speed(), 0),
                    short_number(1e3 * it.computing / rounds), std::to_string(it.rounds)});
    if (!finding.barrier) continue;
    rows.back().push_back(percent(static_cast<double>(it.last) / rounds));
    rows.back().push_back(at_text(it.held));
  }
  text += html_table(rows);
  if (workers.size() < finding.workers.size())
    text += paragraph("The pictures have the " + std::to_string(workers.size()) + " workers of " +
                      std::to_string(finding.workers.size()) +
                      " that the others waited for longest; the table has the first " +
                      std::to_string(std::min(finding.workers.size(), most_rows)) + ".");
  return text;
}

// Where to look first: in the middle of the time in which most was waited, else behind the first rounds.
std::size_t first_in_view(const RunRecord& record, const Finding& finding) {
  const auto worst = std::ranges::max_element(
      finding.stretches, {}, [](const Stretch& it) { return it.waiting * (it.end - it.begin); });
  return worst == finding.stretches.end() ? record.rounds.size() / 2 : (worst->first + worst->last) / 2;
}

std::string changes_table(const Changes& changes) {
  std::string text = "<h2>What changed when</h2>\n";
  if (changes.list.empty())
    return text + paragraph("Nothing: shares stayed as they were, and no worker came or went.");
  text += "<div class=\"wide\"><table><tr><th>at</th><th class=\"text\">what</th></tr>\n";
  for (const Change& it : changes.list) {
    text += "<tr><td>" + at_text(it.at) + "</td><td class=\"text\">" + (it.moved ? "work moved " : "") +
            escaped(it.what) +
            (it.why.empty() ? "" : "<br><span class=\"soft\">" + escaped(it.why) + "</span>") +
            "</td></tr>\n";
  }
  text += "</table></div>\n";
  if (changes.left_out > 0)
    text += paragraph(std::to_string(changes.left_out) + " smaller moves and notes in between are left out.");
  return text;
}

std::string row(const std::string& what, const std::string& value) {
  return value.empty() ? "" : "<dt>" + escaped(what) + "</dt><dd>" + escaped(value) + "</dd>";
}

std::string about(const ReportedRun& run) {
  const RunRecord& record = run.record;
  const RunResult& result = record.result;
  std::string text = "<h2>About this run</h2>\n<dl>" + row("directory", run.path) + row("job", run.about);
  for (const Origin& it : record.origins) {
    text += row(&it == &record.origins.front() ? "began" : "resumed",
                it.date + " on " + it.machine + ", steelyard " + it.version);
  }
  if (record.origins.empty()) text += row("began", "date, machine and version were not recorded");
  text += row("ended",
              !result.known ? "not yet" : result.outcome + (result.text.empty() ? "" : ": " + result.text)) +
          row("checkpoint", result.checkpoint) + row("job.toml", run.trouble);
  if (record.unreadable > 0)
    text += row("not complete", std::to_string(record.unreadable) + " lines of the record cannot be read");
  text += "</dl>\n<details><summary>the job, with every default</summary><pre>";
  // Line by line: as one line its ends would be shown as \n.
  for_each_line(run.job, [&](std::string_view line) { text += escaped(std::string(line)) + "\n"; });
  return text + "</pre></details>\n";
}

std::string section(const ReportedRun& run, const std::string& title) {
  const Finding finding = finding_of(run.record, run.terms);
  const Changes changes = changes_of(run.record, finding.barrier);
  const std::vector<std::uint32_t> lines = most_interesting(finding, most_lines);
  std::vector<double> marks;
  const auto moves = std::ranges::count_if(changes.list, &Change::moved);
  const bool few_notes = std::ssize(changes.list) - moves <= few_marks;
  for (const Change& it : changes.list) {
    if (it.moved ? moves <= few_marks : few_notes) marks.push_back(it.at);
  }
  std::string text = "<section>\n<h1>" + escaped(title) + "</h1>\n" + paragraph(run.about) +
                     finding_text(run, finding) + tiles(run, finding);
  if (finding.rounds == 0) return text + changes_table(changes) + about(run) + "</section>\n";
  if (finding.better) text += "<h2>A better split</h2>\n" + better_table(run.record, finding);
  const std::vector<std::uint32_t> drawn = most_interesting(finding, most_lanes);
  text += by_worker(run.record, finding, drawn);
  if (finding.barrier)
    text += "<h2>Round by round</h2>\n" + lanes(run.record, drawn, first_in_view(run.record, finding));
  text +=
      "<h2>The whole run</h2>\n<div class=\"zoom\" hidden><button type=\"button\" data-zoom=\"in\">zoom "
      "in</button>"
      "<button type=\"button\" data-zoom=\"out\">zoom out</button><button type=\"button\" "
      "data-zoom=\"left\">earlier</button><button type=\"button\" data-zoom=\"right\">later</button><button "
      "type=\"button\" data-zoom=\"all\">all</button><span class=\"soft\">or drag over a part of a "
      "picture</span></div>\n";
  return text + run_plots(run, lines, marks) + changes_table(changes) + about(run) + "</section>\n";
}

std::string overview(const std::vector<ReportedRun>& runs) {
  std::vector<std::vector<std::string>> rows{{"run", "policy", "mode", "samples/s", "% of ideal", "accuracy",
                                              "training time", "waited for longest"}};
  const auto known = [](double value, const std::string& text) { return value < 0 ? "-" : text; };
  for (const ReportedRun& run : runs) {
    const Finding finding = finding_of(run.record, run.terms);
    const RunResult& it = run.record.result;
    const auto culprit = finding.culprit();
    rows.push_back({short_path(run, runs), run.policy, run.sync,
                    finding.seconds > 0 ? fixed(finding.samples / finding.seconds, 0) : "-",
                    known(it.percent_of_ideal, fixed(it.percent_of_ideal, 1)),
                    known(it.accuracy, percent(it.accuracy, 2)), at_text(finding.seconds),
                    culprit ? run.record.workers[*culprit] : "-"});
  }
  return "<section>\n<h1>" + std::to_string(runs.size()) + " runs</h1>\n" + html_table(rows) +
         accuracy_of_all(runs) + "</section>\n";
}

constexpr const char* reading = R"(<h2>How to read it</h2>
<p class="soft">Steelyard divides each round, a batch of samples, among its workers. In most modes a round
ends when the slowest worker has computed its share, and the others wait for it. Measured are how long
each worker computed and how long each round took; what a round took beyond its slowest worker is exchange
of parameters and gradients. The waiting of a round is put down to its slowest worker. Percent of ideal:
how fast the rounds were, measured by the best split of each round among the same workers. It and the
better split are estimated from the times that this run measured. Seconds of training are without
evaluations; time on the axes is with them. Where a picture has more rounds than points, its lines are
means and the area around them goes from the least to the most. Dotted uprights: something changed, see
the table. Arrow keys go through a picture that has the focus, + and - zoom, 0 shows all.</p>
)";

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
    Series it = evaluations(runs[i].record, short_path(runs[i], runs), nth_colour(i));
    if (!it.x.empty()) plot.series.push_back(std::move(it));
  }
  return plot.series.size() < 2 ? "" : drawn(plot);
}

std::string run_part(const ReportedRun& run) {
  const RunStatus status = status_of(run);
  std::string text = "<p class=\"stands\">" + escaped(headline(run, status, "running")) + "</p>\n";
  if (status.done >= 0) {
    text += "<progress aria-label=\"how much is done\" value=\"" + fixed(status.done, 4) + "\">" +
            percent(status.done) + "</progress>\n";
  }
  if (run.record.left_out > 0) {
    text += paragraph("Of the rounds of training the last " +
                      std::to_string(std::ranges::count_if(run.record.rounds, &RunRound::train)) +
                      " are shown; " + std::to_string(run.record.left_out) +
                      " before them are left out here; the report of the run has all.");
  }
  return text + section(run, run.name) + reading;
}

std::string run_page(const std::vector<ReportedRun>& runs) {
  std::string body = runs.size() > 1 ? overview(runs) : "";
  for (const ReportedRun& run : runs)
    body += section(run, runs.size() > 1 ? short_path(run, runs) : run.name);
  return page("steelyard report" + (runs.empty() ? "" : ": " + runs.front().name), body + reading);
}

}  // namespace steelyard
