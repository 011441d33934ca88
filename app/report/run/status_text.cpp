#include "app/report/run/status_text.h"
#include "app/report/page/page.h"

#include <map>

#include "app/report/page/page.h"
#include "app/report/progress_bar.h"
#include "app/report/run/run_notes.h"
#include "app/report/run/run_state.h"
#include "app/report/terminal_text.h"
#include "core/error.h"

namespace steelyard {
namespace {

constexpr std::size_t recent = 50;        // rounds
constexpr std::size_t longest_name = 24;  // columns
constexpr std::size_t workers_shown = 40;

RunRecord recent_of(const RunRecord& all) {
  RunRecord record;
  record.workers = all.workers;
  for (auto it = all.rounds.rbegin(); it != all.rounds.rend() && record.rounds.size() < recent; ++it) {
    if (it->train) record.rounds.insert(record.rounds.begin(), *it);
  }
  return record;
}

std::string cell(const std::string& text, std::size_t columns) {
  const std::string shown = shown_line(text, columns);
  return shown + std::string(columns - std::min(columns, columns_of(shown)), ' ');
}

std::string workers_table(const ReportedRun& run, const RunStatus& status) {
  const RunRecord& record = status.record;
  const Finding& finding = status.finding;
  std::string text = "  " + cell("worker", longest_name) + "  samples a round  samples/s" +
                     (finding.barrier ? "  waits" : "") + "\n";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < finding.workers.size(); ++i) {
    const WorkerFinding& it = finding.workers[i];
    if (it.rounds == 0 || ++shown > workers_shown) continue;
    text += "  " + cell(record.workers[i], longest_name) + "  " +
            cell(fixed(it.samples / static_cast<double>(it.rounds), 1), 15) + "  " +
            cell(fixed(it.speed(), 0), 9) +
            (finding.barrier ? "  " + percent(it.waiting / std::max(finding.seconds, 1e-9)) : "") + "\n";
  }
  if (shown > workers_shown) text += "  and " + std::to_string(shown - workers_shown) + " more\n";
  for (const auto& [name, why] : workers_without_rounds(run, status)) {
    if (++shown > workers_shown) break;
    text += wrapped("  " + cell(name, longest_name) + "  " + shown_line(why), summary_width,
                    2 + longest_name + 2) +
            "\n";
  }
  return text;
}

std::string advice_line(const ReportedRun& run, const Finding& finding) {
  const auto culprit = finding.culprit();
  if (!finding.barrier) return "workers do not wait for each other in this mode";
  if (!culprit) return "the split is good: workers hardly wait";
  std::string text = run.record.workers[*culprit] + " holds the others up: they wait for it " +
                     percent(finding.workers[*culprit].held / finding.seconds) + " of the time";
  if (finding.better) {
    text += "; with the best split a round would be " +
            fixed(finding.better->seconds_now / finding.better->seconds_better, 2) + " times as fast";
    if (run.policy == "equal" || run.policy == "static")
      text += ", and policy " + run.policy + " never moves work: --set cluster.policy=steelyard does";
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> workers_without_rounds(const ReportedRun& run,
                                                                        const RunStatus& status) {
  std::map<std::string, std::string> notes = last_notes(run.record);
  for (std::size_t i = 0; i < status.finding.workers.size(); ++i) {
    if (status.finding.workers[i].rounds > 0) notes.erase(status.record.workers[i]);
  }
  std::vector<std::pair<std::string, std::string>> list;
  for (const auto& [name, note] : notes) {
    const bool present = note.starts_with("joined");
    list.emplace_back(name, present ? "idle in the last " + count_of(status.finding.rounds, "round") : note);
  }
  return list;
}

double share_done(const ReportedRun& run) {
  std::uint64_t round = 0, epoch = 0, in_epoch = 0, longest = 0;
  double seconds = run.record.left_out_seconds;
  for (const RunRound& it : run.record.rounds) {
    if (!it.train) continue;
    in_epoch = it.epoch == epoch ? in_epoch + 1 : 1;
    longest = std::max(longest, in_epoch);
    round = it.round + 1;
    epoch = it.epoch;
    seconds += it.seconds();
  }
  double done = -1;
  if (run.rounds > 0) done = std::max(done, static_cast<double>(round) / static_cast<double>(run.rounds));
  if (run.seconds > 0) done = std::max(done, seconds / run.seconds);
  if (run.epochs > 0 && epoch > 0) {
    const double within = static_cast<double>(in_epoch) / static_cast<double>(longest);
    done = std::max(done, (static_cast<double>(epoch) + within) / static_cast<double>(run.epochs));
  }
  return std::min(done, 1.0);
}

RunStatus status_of(const ReportedRun& run) {
  RunStatus it{recent_of(run.record), {}, 0, 0, share_done(run), -1, -1};
  it.finding = finding_of(it.record, run.terms);
  if (it.record.rounds.empty()) return it;
  it.epoch = it.record.rounds.back().epoch + 1;
  it.round = it.record.rounds.back().round + 1;
  if (it.done > 0) it.seconds_left = (1 - it.done) / it.done * run.record.rounds.back().end;
  const auto test =
      std::ranges::find(run.record.rounds.rbegin(), run.record.rounds.rend(), false, &RunRound::train);
  if (test == run.record.rounds.rend()) return it;
  if (test->accuracy >= 0) it.accuracy = test->accuracy;
  it.test_loss = test->loss;
  it.error = test->error;
  return it;
}

std::string progress_text(const ReportedRun& run, const RunStatus& status) {
  if (status.round == 0) return "no round has ended";
  return "epoch " + std::to_string(status.epoch) +
         (run.epochs > 0 ? " of " + std::to_string(run.epochs) : "") + ", round " +
         grouped(static_cast<double>(status.round)) +
         (run.life.training && status.seconds_left >= 0 ? ", " + duration_text(status.seconds_left) + " left"
                                                        : "");
}

std::string state_line(const ReportedRun& run) {
  const RunStatus status = status_of(run);
  const StateOfRun state = state_of(run);
  if (state.state == RunState::waiting && status.round == 0) return state.text();
  const bool brief = state.state == RunState::running || state.reason.empty();
  return brief ? std::string(name(state.state)) + ", " + progress_text(run, status)
               : state.text() + "; " + progress_text(run, status);
}

std::string status_text(const ReportedRun& run) {
  const RunStatus status = status_of(run);
  const Finding& finding = status.finding;
  std::string text = wrapped(shown_line(run.path + ": " + state_line(run)), summary_width, 2) + "\n";
  if (finding.rounds == 0) return text;
  const std::string rounds = "   (last " + count_of(finding.rounds, "round") + ")\n";
  text += "  samples per second  " + fixed(status.samples_per_second(), 0) + rounds;
  if (finding.ideal_seconds >= 0)
    text += "  percent of ideal    " + ideal_text(100 * status.ideal(), false, "") + rounds;
  if (status.accuracy >= 0)
    text += "  test accuracy       " + fixed(100 * status.accuracy, 2) + " %\n";
  else if (status.error.known())
    text += "  test " + status.error.name + std::string(15 - status.error.name.size(), ' ') +
            status.error.text() + "\n";
  else if (std::isfinite(status.test_loss))
    text += "  test loss           " + fixed(status.test_loss, 4) + "\n";
  text += workers_table(run, status);
  for (const std::string& server : servers_without_mirror(run.record)) {
    if (!run.life.training) break;
    text +=
        wrapped("  server '" + shown_line(server) +
                    "' has no mirror, so its loss would end the job: start one more server with --mirrors 1",
                summary_width, 2) +
        "\n";
  }
  return text + wrapped("  " + shown_line(advice_line(run, finding)), summary_width, 2) + "\n";
}

}  // namespace steelyard
