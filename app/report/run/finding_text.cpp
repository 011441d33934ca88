#include "app/report/run/finding_text.h"

#include <algorithm>

#include "app/report/page/page.h"

namespace steelyard {
namespace {

constexpr std::size_t stretches_told = 8, shares_told = 4, workers_told = 4;
constexpr double much_exchange = 0.4;
constexpr double most_of_it = 0.55;    // of the waiting, for one worker to be named alone
constexpr double seconds_worth = 0.1;  // of waiting that make a stretch worth a row

std::string better_text(const RunRecord& record, const Finding& finding) {
  if (!finding.better) return "";
  const BetterSplit& it = *finding.better;
  std::string text;
  if (it.workers.size() <= shares_told) {
    for (std::size_t i = 0; i < it.workers.size(); ++i) {
      text += (i == 0 ? ": " : ", ") + record.workers[it.workers[i]] + " " +
              grouped(static_cast<double>(it.better[i])) + " samples instead of " + grouped(it.now[i]);
    }
  }
  return " A better split would have made these rounds " + fixed(it.seconds_now / it.seconds_better, 2) +
         " times as fast (" + short_number(1e3 * it.seconds_better) + " ms instead of " +
         short_number(1e3 * it.seconds_now) + " ms)" + text + ".";
}

Json held_up(const ReportedRun& run, const Finding& finding, std::uint32_t culprit) {
  const WorkerFinding& it = finding.workers[culprit];
  const auto rounds = static_cast<double>(std::max<std::uint64_t>(it.rounds, 1));
  return text_block("finding", "Worker " + run.record.workers[culprit] + " held the others up.",
                    " It was the last to finish in " + percent(static_cast<double>(it.last) / rounds) +
                        " of its rounds, and the others waited for it " + percent(it.held / finding.seconds) +
                        " of the time (" + at_text(it.held) + " of " + at_text(finding.seconds) + ")." +
                        better_text(run.record, finding));
}

Json took_turns(const ReportedRun& run, const Finding& finding, double held) {
  std::vector<std::uint32_t> workers;
  for (std::uint32_t i = 0; i < finding.workers.size(); ++i) workers.push_back(i);
  std::ranges::stable_sort(workers, std::greater{},
                           [&](std::uint32_t it) { return finding.workers[it].held; });
  std::string text = " In " + at_text(finding.seconds) + " of training the others waited " + at_text(held) +
                     " for the last to finish: ";
  for (std::size_t i = 0; i < std::min(workers.size(), workers_told); ++i) {
    text += (i > 0 ? ", " : "") + at_text(finding.workers[workers[i]].held) + " for " +
            run.record.workers[workers[i]];
  }
  return text_block("finding", "No single worker held the others up.",
                    text + (workers.size() > workers_told ? ", and less for each of the others." : ".") +
                        better_text(run.record, finding));
}

Json without_barrier(const ReportedRun& run, const Finding& finding) {
  const auto [slowest, fastest] = std::ranges::minmax_element(finding.workers, {}, &WorkerFinding::speed);
  const auto named = [&](auto it) {
    return run.record.workers[static_cast<std::size_t>(it - finding.workers.begin())] + " computed " +
           grouped(it->speed()) + " samples/s";
  };
  return text_block("finding", "The workers did not wait for each other in this mode.",
                    " The fastest, " + named(fastest) + "; the slowest, " + named(slowest) + ".");
}

std::string advice(const ReportedRun& run, const Finding& finding) {
  std::string text;
  if (finding.better && (run.policy == "equal" || run.policy == "static"))
    text = "Policy " + run.policy +
           " never moves work. To find a better split automatically, train with --set "
           "cluster.policy=steelyard. ";
  if (finding.barrier && finding.exchange > much_exchange) {
    text += percent(finding.exchange) +
            " of the time is exchange of parameters and gradients, which no split makes shorter. A larger "
            "train.batch or local steps (cluster.sync) would.";
  }
  return text;
}

}  // namespace

std::vector<Json> finding_blocks(const ReportedRun& run, const Finding& finding) {
  if (finding.rounds == 0) return {text_block("finding", "No round of training has ended.", "")};
  const auto culprit = finding.culprit();
  double held = 0;
  for (const WorkerFinding& it : finding.workers) held += it.held;
  std::vector<Json> blocks;
  if (finding.workers.size() < 2)
    blocks.push_back(text_block("finding", "One worker computed alone, so no worker waited.", ""));
  else if (!finding.barrier)
    blocks.push_back(without_barrier(run, finding));
  else if (!culprit)
    blocks.push_back(
        text_block("finding", "The split was good.",
                   " A worker waited " + percent(finding.waiting, 1) + " of the time on average."));
  else if (finding.workers[*culprit].held > most_of_it * held)
    blocks.push_back(held_up(run, finding, *culprit));
  else
    blocks.push_back(took_turns(run, finding, held));
  if (const std::string text = advice(run, finding); !text.empty())
    blocks.push_back(text_block("advice", "", text));
  return blocks;
}

Json better_block(const RunRecord& record, const Finding& finding) {
  if (!finding.better) return {};
  const BetterSplit& it = *finding.better;
  TextRows rows{{"worker", "samples a round", "better", "change"}};
  for (std::size_t i = 0; i < it.workers.size(); ++i) {
    const double change = static_cast<double>(it.better[i]) - it.now[i];
    rows.push_back({record.workers[it.workers[i]], grouped(it.now[i]),
                    grouped(static_cast<double>(it.better[i])), (change > 0 ? "+" : "") + grouped(change)});
  }
  return table_block("better", "A better split", rows,
                     "For the rounds from " + at_text(it.begin) + " to " + at_text(it.end) +
                         ", computed from the times measured in them.");
}

Json stretches_block(const RunRecord& record, const Finding& finding) {
  std::vector<Stretch> told = finding.stretches;
  const auto waited = [](const Stretch& it) { return it.waiting * (it.end - it.begin); };
  std::erase_if(told,
                [&](const Stretch& it) { return it.waiting < little_waiting || waited(it) < seconds_worth; });
  std::ranges::stable_sort(told, std::greater{}, waited);
  if (told.size() < 2) return {};
  TextRows rows{{"worker", "from", "to", "the others waited", "of this time"}};
  for (std::size_t i = 0; i < std::min(told.size(), stretches_told); ++i) {
    const Stretch& it = told[i];
    rows.push_back({record.workers[it.worker], at_text(it.begin), at_text(it.end), at_text(waited(it)),
                    percent(it.waiting)});
  }
  const std::size_t more = told.size() - (rows.size() - 1);
  return table_block("stretches", "When the others waited for one worker", rows,
                     more > 0 ? std::to_string(more) + " shorter stretches are left out." : "");
}

}  // namespace steelyard
