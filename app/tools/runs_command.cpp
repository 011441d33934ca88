#include "app/tools/runs_command.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "app/config/hosts_file.h"
#include "app/config/job_source.h"
#include "app/launch/results_there.h"
#include "app/processes/run_journal.h"
#include "app/report/output_file.h"
#include "app/report/progress_bar.h"
#include "app/report/terminal_text.h"
#include "app/report/text_table.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "server/checkpoint/checkpoint.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_cell = 40;  // columns

// Without the rounds, which may be many.
ListedRun described(const std::string& path) {
  const auto text = [&](const char* file, const char* what) {
    std::error_code ignored;
    return fs::exists(path + file, ignored) ? read_input(path + file, {what, 64, ""}) : std::string();
  };
  const std::string job = text("/job.toml", "job of a run");
  ReportedRun run = reported_run(
      path, job,
      run_record("", text("/events.jsonl", "events of a run"), text("/result.json", "result of a run")));
  run.state = state_of(path, run.record.result);
  return {std::move(run), !list_checkpoints(path + "/checkpoints").empty()};
}

std::string began(const ListedRun& it) {
  const std::vector<Origin>& origins = it.run.record.origins;
  return origins.empty() ? "" : origins.front().date;
}

bool can_resume(const ListedRun& it) {
  return it.run.state != "running" && it.run.state != "finished" && it.has_checkpoint;
}

// The command that started the run. The run directory of a script does not have the script.
std::string resume_command(const ReportedRun& run) {
  const std::string path = shown_line(run.path);
  const bool script = run.job.find("[model]\nname = \"external\"") != std::string::npos;
  return "steelyard " + (script ? "run SCRIPT" : "train " + path + "/job.toml") + " --run-dir " + path +
         " --resume";
}

std::string result_text(const ListedRun& it) {
  const RunResult& result = it.run.record.result;
  if (it.run.state == "running") return "running";
  std::string text = it.run.state;
  if (result.accuracy >= 0)
    text += ", accuracy " + fixed(100 * result.accuracy, 2) + " %";
  else if (result.error.known())
    text += ", " + result.error.name + " " + result.error.text();
  else if (std::isfinite(result.test_loss))
    text += ", test loss " + fixed(result.test_loss, 4);
  if (it.run.state != "finished" && !it.has_checkpoint) text += ", no checkpoint";
  return text;
}

// The runs of launches whose results are on another host, and how to bring them.
std::vector<std::string> notes_in(const std::string& folder) {
  std::vector<std::string> notes;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (const std::string note = note_of(it->path()); !note.empty())
      notes.push_back(it->path().string() + ": " + note);
  std::ranges::sort(notes, natural_less);
  return notes;
}

}  // namespace

std::string state_of(const std::string& run, const RunResult& result) {
  // A resumed run still has the result.json of its earlier process, so the lock is checked first.
  if (in_use(run)) return "running";
  return result.known ? result.outcome : "stopped";
}

std::vector<std::string> runs_in(const std::string& folder) {
  std::vector<std::string> runs;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (fs::is_regular_file(it->path() / "job.toml", ignored) &&
        fs::is_directory(it->path() / "checkpoints", ignored))
      runs.push_back(it->path().string());
  }
  if (error)
    throw Failure(ExitCode::io, folder + ": " + error.message() + ": give the folder that contains the runs");
  std::ranges::sort(runs, natural_less);
  return runs;
}

std::string newest_run(const std::string& folder) {
  std::string newest;
  fs::file_time_type latest = fs::file_time_type::min();
  for (const std::string& run : runs_in(folder)) {
    std::error_code error;
    const fs::file_time_type at = fs::last_write_time(run + "/rounds.jsonl", error);
    if (error || at < latest) continue;
    latest = at;
    newest = run;
  }
  if (newest.empty()) refuse_usage(folder + " has no run: give the directory of a run");
  return newest;
}

std::string runs_table(const std::vector<ListedRun>& runs) {
  std::vector<std::vector<std::string>> rows{{"run", "began (UTC)", "model", "policy", "time", "result"}};
  for (const ListedRun& it : runs) {
    const ReportedRun& run = it.run;
    std::string date = began(it).substr(0, 16);  // to the minute
    std::ranges::replace(date, 'T', ' ');
    const std::string model = run.about.substr(0, run.about.find(','));
    const double seconds = run.record.result.seconds;
    std::vector<std::string> row{shown_line(run.path)};
    for (const std::string& cell :
         {date, model, run.policy, seconds >= 0 ? duration_text(seconds) : "", result_text(it)})
      row.push_back(shown_line(cell.empty() ? "-" : cell, longest_cell));
    rows.push_back(std::move(row));
  }
  const std::vector<std::string> lines = aligned_lines(rows);
  std::string text = lines.front() + "\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    text += lines[i + 1] + "\n";
    if (can_resume(runs[i])) text += "  " + resume_command(runs[i].run) + "\n";
  }
  return text;
}

std::string runs_json(const std::vector<ListedRun>& runs) {
  Json list = Json::array();
  for (const ListedRun& it : runs) {
    const ReportedRun& run = it.run;
    const RunResult& result = run.record.result;
    list.push_back({{"run", run.path},
                    {"name", run.name},
                    {"began", began(it).empty() ? Json() : Json(began(it))},
                    {"about", run.about},
                    {"policy", run.policy},
                    {"sync", run.sync},
                    {"state", run.state},
                    {"reason", result.text},
                    {"seconds", known_or_null(result.seconds)},
                    {"accuracy", known_or_null(result.accuracy)},
                    {"test_loss", result.test_loss},
                    {"samples_per_second", known_or_null(result.samples_per_second)},
                    {"percent_of_ideal", known_or_null(result.percent_of_ideal)},
                    {"resume", can_resume(it) ? Json(resume_command(run)) : Json()}});
    add_error(list.back(), result.error);
  }
  return dump_json(Json{{"format", 1}, {"runs", list}}, 2) + "\n";
}

void run_runs(const RunsCommand& command) {
  check_output("--json", command.json);
  std::vector<ListedRun> runs;
  for (const std::string& path : runs_in(command.folder)) runs.push_back(described(path));
  std::ranges::stable_sort(runs, {}, began);  // dates are in order as texts
  if (!command.json.empty()) write_output("--json", command.json, runs_json(runs));
  if (command.json == "-") return;
  const std::vector<std::string> notes = notes_in(command.folder);
  if (runs.empty() && notes.empty()) std::printf("no run in %s\n", shown_line(command.folder).c_str());
  if (!runs.empty()) std::fputs(runs_table(runs).c_str(), stdout);
  for (const std::string& note : notes) std::printf("%s\n", shown_line(note).c_str());
}

}  // namespace steelyard
