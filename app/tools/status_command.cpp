#include "app/tools/status_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "app/config/hosts_file.h"
#include "app/config/job_source.h"
#include "app/processes/run_journal.h"
#include "app/report/output_file.h"
#include "app/report/page/page.h"
#include "app/report/run/run_page.h"
#include "app/report/run/status_text.h"
#include "app/report/terminal_text.h"
#include "app/web/http_server.h"
#include "app/web/place.h"
#include "core/error.h"
#include "core/json.h"
#include "server/checkpoint/checkpoint.h"

namespace steelyard {

void run_report(const ReportCommand& command) {
  const std::string output = command.output.empty() ? command.runs.front() + "/report.html" : command.output;
  std::vector<ReportedRun> runs;
  for (const std::string& path : command.runs) {
    runs.push_back(read_run(path));
    if (!runs.back().trouble.empty()) {
      std::fprintf(stderr, "steelyard: the page is incomplete for this run: %s\n",
                   shown_lines(runs.back().trouble).c_str());
    }
  }
  check_output("--output", output);
  write_output("--output", output, page(run_document(runs)));
  if (output != "-") std::printf("page: %s\n", shown_line(output).c_str());
}

namespace {

namespace fs = std::filesystem;

std::string result_of(const std::string& run) {
  std::error_code ignored;
  return fs::exists(run + "/result.json", ignored)
             ? read_input(run + "/result.json", {"result of a run", 16, ""})
             : "";
}

// A resumed run still has the result.json of its earlier process, so the lock is checked first.
std::string state_of(const std::string& run, const RunResult& result) {
  if (in_use(run)) return "running";
  return result.known ? result.outcome : "stopped";
}

// The command that started a run. The run directory of a script does not have the script.
std::string begun_by(const std::string& run) {
  const std::string job = read_input(run + "/job.toml", {"run", 16, ""});
  return job.find("[model]\nname = \"external\"") != std::string::npos
             ? "run SCRIPT"
             : "train " + shown_line(run) + "/job.toml";
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

// The status text of a running job, over HTTP.
std::string told_by(const std::string& place) {
  const std::string body = http_get(asked_place(place), "/status");
  const Json status = parse_json(body);
  if (!status.is_object() || !status.value("text", Json()).is_string())
    throw Failure(ExitCode::protocol,
                  "the server at " + place +
                      " is not a Steelyard page: use the address printed by --web of a running job");
  return shown_lines(status["text"].get<std::string>());
}

}  // namespace

void run_status(const StatusCommand& command) {
  std::error_code ignored;
  if (is_web_place(command.run) && !fs::exists(command.run, ignored)) {
    std::fputs(told_by(command.run).c_str(), stdout);
    return;
  }
  const std::string path = command.run.empty() ? newest_run("runs") : command.run;
  const ReportedRun run = read_run(path);
  std::fputs(status_text(run, state_of(path, run.record.result)).c_str(), stdout);
}

void run_runs(const RunsCommand& command) {
  const std::vector<std::string> runs = runs_in(command.folder);
  if (runs.empty()) std::printf("no run in %s\n", shown_line(command.folder).c_str());
  for (const std::string& run : runs) {
    const RunResult result = run_record("", "", result_of(run)).result;
    const std::string state = state_of(run, result);
    std::string line = run + ": " + state;
    if (result.accuracy >= 0 && state != "running")
      line += ", accuracy " + fixed(100 * result.accuracy, 2) + " %";
    const std::vector<std::string> checkpoints = list_checkpoints(run + "/checkpoints");
    if (state != "running" && checkpoints.empty()) line += ", no checkpoint";
    std::printf("%s\n", shown_line(line).c_str());
    if (state != "running" && state != "finished" && !checkpoints.empty())
      std::printf("  steelyard %s --run-dir %s --resume\n", begun_by(run).c_str(), shown_line(run).c_str());
  }
}

}  // namespace steelyard
