#include "app/tools/status_command.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "app/launch/results_there.h"
#include "app/report/output_file.h"
#include "app/report/page/page.h"
#include "app/report/run/run_page.h"
#include "app/report/run/run_state.h"
#include "app/report/run/status_json.h"
#include "app/report/terminal_text.h"
#include "app/tools/run_life.h"
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
    runs.push_back(read_living_run(path));
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

// As of app/report/run/status_json.h.
Json current(const std::string& run) {
  std::error_code ignored;
  if (is_web_place(run) && !std::filesystem::exists(run, ignored)) return asked(run);
  const std::string path = run.empty() ? newest_run("runs") : run;
  require_results_here(path);
  return status_json(read_living_run(path));
}

std::string text_of(const Json& status) { return shown_lines(text_at(status, "text")); }

bool is_over(const Json& status) {
  const std::string state = text_at(status, "state");
  const auto known = std::ranges::find(all_run_states, state, [](RunState it) { return name(it); });
  return known == all_run_states.end() || StateOfRun{*known, ""}.over();
}

}  // namespace

void run_status(const StatusCommand& command) {
  check_output("--json", command.json);
  const Json status = current(command.run);
  if (!command.json.empty()) write_output("--json", command.json, dump_json(status, 2) + "\n");
  if (command.json != "-") std::fputs(text_of(status).c_str(), stdout);
}

void run_top(const TopCommand& command) {
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  for (bool first = true;; first = false) {
    const Json status = current(command.run);
    const std::string text = text_of(status);
    if (terminal) std::fputs("\033[H\033[2J", stdout);
    std::fputs((terminal || first ? text : "\n" + text).c_str(), stdout);
    std::fflush(stdout);
    if (is_over(status)) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(command.every));
  }
}

}  // namespace steelyard
