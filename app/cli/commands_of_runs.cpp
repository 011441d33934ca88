#include <CLI/CLI.hpp>

#include <iostream>
#include <limits>

#include "app/cli/commands.h"
#include "app/processes/journal_file.h"
#include "app/report/run_directory.h"
#include "app/tools/metrics_command.h"
#include "app/tools/runs_command.h"
#include "app/tools/status_command.h"
#include "app/tools/trace_command.h"

namespace steelyard {
namespace {

struct JournalCommand {
  std::string run;                                                  // directory
  std::uint64_t until = std::numeric_limits<std::uint64_t>::max();  // number of the last record
};

void show_journal(const JournalCommand& it) {
  print_journal(RunDirectory::open(it.run), it.until, std::cout);
}

void add_trace(Commands& all) {
  auto [app, it] = all.add(
      "trace", "merge the traces of a job's processes into one timeline for ui.perfetto.dev", run_trace);
  app.add_option("path", it.paths, "run directories, or directories and files written by a process's --trace")
      ->required();
  app.add_option("--output,-o", it.output, "write to this file; - for standard output")
      ->capture_default_str();
  app.footer(
      "`steelyard train --trace` writes the timeline automatically. Processes that you start yourself, "
      "possibly\n"
      "on several machines, each write a file into the directory of their --trace: give all of these.\n"
      "Example:\n  steelyard trace scheduler-trace worker-a-trace worker-b-trace");
}

void add_journal(Commands& all) {
  auto [app, it] =
      all.add("journal", "print the messages that a run's scheduler received, and its answers", show_journal);
  app.add_option("run", it.run, "directory of the run")->required();
  app.add_option("--until", it.until, "number of the last message to print")->type_name("N");
  app.footer(
      "Replays the journal to a new scheduler, so the output is the same every time. Fields are in the "
      "order\n"
      "of protocol/fields.h.\nExample:\n  steelyard journal runs/quick-1 --until 500");
}

void add_report(Commands& all) {
  auto [app, it] = all.add(
      "report",
      "write a page on runs: which worker slowed the others down, when, and what a better split gains",
      run_report);
  app.add_option("run", it.runs, "directory of a run, as in runs/job-1; several runs share one page")
      ->required();
  app.add_option(
      "--output,-o", it.output,
      "write the page to this file; - for standard output (default: report.html in the first run)");
  app.footer(
      "The page is one file and needs no network. The run may still be in progress.\n"
      "Examples:\n  steelyard report runs/job-1\n"
      "  steelyard report runs/equal runs/balanced --output both.html");
}

void add_status(Commands& all) {
  auto [app, it] = all.add(
      "status", "print a run's progress, the speed of its workers, and which one slows the others down",
      run_status);
  app.add_option("run", it.run,
                 "directory of a run (default: the run in runs/ written to last), or HOST:PORT of a job that "
                 "runs with --web");
  add_json(app, it.json, "the same facts");
  app.footer("Examples:\n  steelyard status runs/job-1\n  steelyard status 127.0.0.1:7080");
}

void add_top(Commands& all) {
  auto [app, it] = all.add("top", "show the status of a run again and again, until it ends", run_top);
  app.add_option("run", it.run, "as for `steelyard status`");
  app.add_option("--every", it.every, "seconds between two looks")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  app.footer("Examples:\n  steelyard top runs/job-1\n  steelyard top 127.0.0.1:7080 --every 5");
}

void add_runs(Commands& all) {
  auto [app, it] =
      all.add("runs", "list the runs in a folder, and how to resume those that stopped", run_runs);
  app.add_option("folder", it.folder, "folder that contains the runs")->capture_default_str();
  add_json(app, it.json, "the list");
  app.footer("Example: steelyard runs");
}

void add_metrics(Commands& all) {
  auto [app, it] = all.add(
      "metrics", "serve the numbers of all runs in a folder to Prometheus, at one address", run_metrics);
  app.add_option("folder", it.folder, "folder that contains the runs")->capture_default_str();
  app.add_option("--web", it.web,
                 "where to serve /metrics: :PORT for this machine alone, or HOST:PORT (port 0: any)")
      ->type_name("[HOST:]PORT")
      ->capture_default_str();
  app.add_option("--keep", it.keep_hours, "hours for which a run that ended is still served")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  app.footer(
      "Jobs come and go; the address stays. Every number has the labels job and run. Ctrl-C ends it.\n"
      "Examples:\n  steelyard metrics runs\n  steelyard metrics /srv/runs --web 0.0.0.0:7433 --keep 2");
}

}  // namespace

void add_run_tools(Commands& all) {
  for (auto* const add : {add_trace, add_journal, add_report, add_status, add_top, add_runs, add_metrics})
    add(all);
}

}  // namespace steelyard
