#include "app/report/run/finding_text.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "app/report/page/page.h"

namespace steelyard {
namespace {

constexpr std::size_t stretches_told = 5, shares_told = 8, names_told = 4, workers_told = 4;
constexpr double much_exchange = 0.4, nearly_all = 0.95;
constexpr double most_of_it = 0.55;  // of the waiting, for one worker to blame

std::string strong(const std::string& text) { return "<b>" + escaped(text) + "</b>"; }

// The longest ones, in the order of time.
std::string when(const RunRecord& record, const Finding& finding) {
  std::vector<Stretch> told = finding.stretches;
  if (told.empty()) return "";
  std::ranges::stable_sort(told, std::greater{},
                           [](const Stretch& it) { return it.waiting * (it.end - it.begin); });
  const std::size_t more = told.size() - std::min(told.size(), stretches_told);
  told.resize(told.size() - more);
  std::ranges::stable_sort(told, {}, &Stretch::begin);
  const double all = record.rounds.back().end - record.rounds.front().begin;
  if (told.size() == 1 && told[0].end - told[0].begin > nearly_all * all)
    return "<p>When: during the whole run.</p>\n";
  std::string text = more > 0 ? "<p>When, in the longest stretches: " : "<p>When: ";
  for (std::size_t i = 0; i < told.size(); ++i) {
    text += (i > 0 ? "; " : "") + ("from " + at_text(told[i].begin)) + " to " + at_text(told[i].end) +
            " the others waited for " + strong(record.workers[told[i].worker]) + " " +
            percent(told[i].waiting) + " of the time";
  }
  return text + (more > 0 ? "; and " + std::to_string(more) + " shorter stretches" : "") + ".</p>\n";
}

std::string better(const RunRecord& record, const Finding& finding) {
  if (!finding.better) return "";
  const BetterSplit& it = *finding.better;
  std::string shares, now;
  const bool named = it.workers.size() <= names_told;
  for (std::size_t i = 0; i < std::min(it.workers.size(), shares_told); ++i) {
    shares += (i > 0 ? " + " : "") + std::to_string(it.better[i]) +
              (named ? " " + record.workers[it.workers[i]] : "");
    now += (i > 0 ? " + " : "") + fixed(it.now[i], 0);
  }
  const std::string rest = it.workers.size() > shares_told ? " + …" : "";
  const std::string when =
      finding.stretches.size() < 2 ? "then" : "from " + at_text(it.begin) + " to " + at_text(it.end);
  return "<p>A better split " + when + ": " + strong(shares + rest) + " samples instead of " + now + rest +
         ". A round would have taken " + short_number(1e3 * it.seconds_better) + " ms instead of " +
         short_number(1e3 * it.seconds_now) + " ms: " + strong(fixed(it.seconds_now / it.seconds_better, 2)) +
         " times as fast.</p>\n";
}

std::string advice_html(const ReportedRun& run, const Finding& finding) {
  std::string text;
  if (finding.better && (run.policy == "equal" || run.policy == "static")) {
    text += "<p>Policy " + escaped(run.policy) +
            " never moves work. One that does finds such a split by itself: <code>--set "
            "cluster.policy=steelyard</code>.</p>\n";
  }
  if (finding.barrier && finding.exchange > much_exchange) {
    text += "<p>" + percent(finding.exchange) +
            " of the time is exchange of parameters and gradients, which no split makes shorter: a larger "
            "<code>train.batch</code>, or local steps (<code>cluster.sync</code>), would.</p>\n";
  }
  return text;
}

std::string without_barrier(const ReportedRun& run, const Finding& finding) {
  const auto speed = [](const WorkerFinding& it) { return it.speed(); };
  const auto fastest = std::ranges::max_element(finding.workers, {}, speed),
             slowest = std::ranges::min_element(finding.workers, {}, speed);
  const auto named = [&](auto it) {
    return strong(run.record.workers[static_cast<std::size_t>(it - finding.workers.begin())]) + " " +
           fixed(it->speed(), 0) + " samples/s";
  };
  return "<p class=\"finding\">In this mode the workers of a round do not wait for each other, so nobody "
         "holds the others up. The fastest computes at " +
         named(fastest) + ", the slowest at " + named(slowest) + ".</p>\n";
}

std::string best_of_all(const Finding& finding) {
  if (!(finding.ideal_seconds > 0) || finding.ideal_seconds > 0.97 * finding.seconds) return "";
  return " With the best split of every round this training would have taken " +
         strong(at_text(finding.ideal_seconds)) + " instead of " + at_text(finding.seconds) + ".";
}

std::string held_up(const ReportedRun& run, const Finding& finding, std::uint32_t culprit) {
  const WorkerFinding& it = finding.workers[culprit];
  const auto rounds = static_cast<double>(std::max<std::uint64_t>(it.rounds, 1));
  return "<p class=\"finding\"><b class=\"who\">" + escaped(run.record.workers[culprit]) +
         "</b> held the others up. It was the last to finish in " +
         percent(static_cast<double>(it.last) / rounds) + " of its rounds, and for " +
         percent(it.held / finding.seconds) + " of the time (" + at_text(it.held) + " of " +
         at_text(finding.seconds) + ") the others had computed and waited for it." + best_of_all(finding) +
         "</p>\n";
}

// Nobody is to blame for most of it.
std::string took_turns(const ReportedRun& run, const Finding& finding, double held) {
  std::vector<std::uint32_t> workers(finding.workers.size());
  std::iota(workers.begin(), workers.end(), 0);
  std::ranges::stable_sort(workers, std::greater{},
                           [&](std::uint32_t it) { return finding.workers[it].held; });
  std::string text = "<p class=\"finding\"><b>The workers took turns in holding each other up.</b> Of " +
                     at_text(finding.seconds) + " of training the others waited " + at_text(held) + ": ";
  for (std::size_t i = 0; i < std::min(workers.size(), workers_told); ++i) {
    text += (i > 0 ? ", " : "") + at_text(finding.workers[workers[i]].held) + " for " +
            strong(run.record.workers[workers[i]]);
  }
  return text + (workers.size() > workers_told ? " and less for each of the others." : ".") +
         best_of_all(finding) + "</p>\n";
}

std::string balanced(const Finding& finding) {
  std::string text =
      "<p class=\"finding\"><b>Nobody held the others up</b> to speak of: a worker "
      "waited for " +
      fixed(100 * finding.waiting, 1) + " % of the time on average.";
  if (finding.ideal_seconds > 0) {
    const double gain = std::max(finding.seconds / finding.ideal_seconds - 1, 0.0);
    text += " The best split of every round would have been faster by " + fixed(100 * gain, 1) + " %.";
  }
  return text + "</p>\n";
}

}  // namespace

std::string finding_text(const ReportedRun& run, const Finding& finding) {
  if (finding.rounds == 0) return "<p class=\"finding\">No round of training has ended.</p>\n";
  if (finding.workers.size() < 2)
    return "<p class=\"finding\">One worker computed alone: there was nobody to wait for.</p>\n" +
           advice_html(run, finding);
  if (!finding.barrier) return without_barrier(run, finding);
  const auto culprit = finding.culprit();
  double held = 0;
  for (const WorkerFinding& it : finding.workers) held += it.held;
  const bool one = culprit && finding.workers[*culprit].held > most_of_it * held;
  return (!culprit ? balanced(finding)
          : one    ? held_up(run, finding, *culprit)
                   : took_turns(run, finding, held)) +
         when(run.record, finding) + better(run.record, finding) + advice_html(run, finding);
}

std::string better_table(const RunRecord& record, const Finding& finding) {
  if (!finding.better) return "";
  const BetterSplit& it = *finding.better;
  std::vector<std::vector<std::string>> rows{{"worker", "samples a round", "better", "change"}};
  for (std::size_t i = 0; i < it.workers.size(); ++i) {
    const double change = static_cast<double>(it.better[i]) - it.now[i];
    rows.push_back({record.workers[it.workers[i]], fixed(it.now[i], 0), std::to_string(it.better[i]),
                    (change > 0 ? "+" : "") + fixed(change, 0)});
  }
  return html_table(rows);
}

}  // namespace steelyard
