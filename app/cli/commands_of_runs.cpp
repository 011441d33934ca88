#include <CLI/CLI.hpp>

#include "app/cli/commands.h"

namespace steelyard {
namespace {

void add_trace(CLI::App& parent, TraceCommand& it) {
  CLI::App& app = *parent.add_subcommand(
      "trace", "what all processes of a job did when, as one timeline for ui.perfetto.dev");
  app.add_option("path", it.paths, "run directories, or directories and files that --trace of a process made")
      ->required();
  app.add_option("--output,-o", it.output, "write to this file; - for standard output")
      ->capture_default_str();
  app.footer(
      "`steelyard train --trace` makes the timeline by itself. Processes that were started by hand, on "
      "several\n"
      "machines perhaps, leave a file each in the directory of their --trace: bring these together.\n"
      "Example:\n  steelyard trace scheduler-trace worker-a-trace worker-b-trace");
}

void add_journal(CLI::App& parent, JournalCommand& it) {
  CLI::App& app = *parent.add_subcommand(
      "journal", "what the scheduler of a run heard and what it answered, message by message");
  app.add_option("run", it.run, "run directory")->required();
  app.add_option("--until", it.until, "number of the last message to show")->type_name("N");
  app.footer(
      "The scheduler is made once more, and hears again what it heard: the same text every time. Fields are\n"
      "in the order of protocol/fields.h.\nExample:\n  steelyard journal runs/quick-1 --until 500");
}

void add_report(CLI::App& parent, ReportCommand& it) {
  CLI::App& app = *parent.add_subcommand(
      "report", "a page of runs: which worker held the others up, when, and what a better split would bring");
  app.add_option("run", it.runs, "the directory of a run, such as runs/job-1; several make one page")
      ->required();
  app.add_option(
      "--output,-o", it.output,
      "write the page to this file; - for standard output (default: report.html in the first run)");
  app.footer(
      "The page needs no network and nothing beside itself. The run may still be under way.\n"
      "Examples:\n  steelyard report runs/job-1\n"
      "  steelyard report runs/equal runs/balanced --output both.html");
}

void add_status(CLI::App& parent, StatusCommand& it) {
  CLI::App& app = *parent.add_subcommand(
      "status", "where a run stands: how far, who works how fast, and who holds the others up");
  app.add_option(
      "run", it.run,
      "the directory of a run (default: of runs/, the one that wrote last), or HOST:PORT of one that "
      "trains with --web");
  app.footer("Examples:\n  steelyard status runs/job-1\n  steelyard status 127.0.0.1:7080");
}

void add_runs(CLI::App& parent, RunsCommand& it) {
  CLI::App& app =
      *parent.add_subcommand("runs", "the runs in a folder, and how to go on with those that stopped");
  app.add_option("folder", it.folder, "where the runs are")->capture_default_str();
  app.footer("Example: steelyard runs");
}

}  // namespace

void add_commands_of_runs(CLI::App& app, Commands& it) {
  add_trace(app, it.trace);
  add_journal(app, it.journal);
  add_report(app, it.report);
  add_status(app, it.status);
  add_runs(app, it.runs);
}

}  // namespace steelyard
