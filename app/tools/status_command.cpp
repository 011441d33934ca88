#include "app/tools/status_command.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "app/launch/results_there.h"
#include "app/report/output_file.h"
#include "app/report/page/page.h"
#include "app/report/run/run_page.h"
#include "app/report/run/status_text.h"
#include "app/report/terminal_text.h"
#include "app/tools/runs_command.h"
#include "app/web/http_server.h"
#include "app/web/place.h"
#include "core/error.h"
#include "core/json.h"

namespace steelyard {

namespace {

void require_results_here(const std::string& run) {
  if (const std::string note = note_of(run); !note.empty()) refuse_setup(run + ": " + note);
}

}  // namespace

void run_report(const ReportCommand& command) {
  const std::string output = command.output.empty() ? command.runs.front() + "/report.html" : command.output;
  std::vector<ReportedRun> runs;
  for (const std::string& path : command.runs) {
    require_results_here(path);
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

// The status of a running job, over HTTP.
Json asked(const std::string& place) {
  const std::string body = http_get(asked_place(place), "/status");
  const Json status = parse_json(body);
  if (!status.is_object() || !status.value("text", Json()).is_string())
    throw Failure(ExitCode::protocol,
                  "the server at " + place +
                      " is not a Steelyard page: use the address printed by --web of a running job");
  return status;
}

struct Current {
  std::string text;
  bool running = false;
};

Current current(const std::string& run) {
  std::error_code ignored;
  if (is_web_place(run) && !std::filesystem::exists(run, ignored)) {
    const Json status = asked(run);
    return {shown_lines(status["text"].get<std::string>()), status.value("state", "") == "running"};
  }
  const std::string path = run.empty() ? newest_run("runs") : run;
  require_results_here(path);
  const ReportedRun read = read_run(path);
  const std::string state = state_of(path, read.record.result);
  return {status_text(read, state), state == "running"};
}

}  // namespace

void run_status(const StatusCommand& command) { std::fputs(current(command.run).text.c_str(), stdout); }

void run_top(const TopCommand& command) {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  for (bool first = true;; first = false) {
    const auto [text, running] = current(command.run);
    if (terminal) std::fputs("\033[H\033[2J", stdout);
    std::fputs((terminal || first ? text : "\n" + text).c_str(), stdout);
    std::fflush(stdout);
    if (!running) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(command.every));
  }
}

}  // namespace steelyard
