#include <steelyard/run.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <utility>

#include "app/cli/command_line.h"
#include "app/config/prepare_job.h"
#include "app/config/registry.h"
#include "app/launch/attend.h"
#include "app/launch/launch.h"
#include "app/processes/journal_file.h"
#include "app/processes/processes.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "app/tools/compare_command.h"
#include "app/tools/devices_command.h"
#include "app/tools/inspect_command.h"
#include "app/tools/keys_command.h"
#include "app/tools/plan_command.h"
#include "app/tools/predict_command.h"
#include "app/tools/profile_command.h"
#include "app/tools/simulate_command.h"
#include "app/tools/status_command.h"
#include "core/error.h"
#include "protocol/machine.h"

namespace steelyard {
namespace {

// In top and ps, which show fifteen letters. Children run /proc/self/exe, and would all be called "exe".
void call_process(const char* name) { prctl(PR_SET_NAME, name); }

// Whoever read what we say may be gone (`| tee log` and Ctrl-C, `| head`): what we are about goes on, and is
// saved. Children inherit it. A standard stream that was closed must not become a file that somebody opens.
void survive_silent_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (int file = open("/dev/null", O_RDWR); file >= 0; file = dup(file)) {
    if (file <= STDERR_FILENO) continue;
    close(file);
    break;
  }
}

int run_cluster(const LaunchOptions& it) {
  if (!it.hosts_file) call_process(it.script ? "steelyard:run" : "steelyard:train");
  return run_launch(it);
}

int run_journal(const JournalCommand& it) {
  print_journal(RunDirectory::open(it.run), it.until, std::cout);
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

int run(int argc, char** argv, Registry own) {
  std::setlocale(LC_ALL, "C");
  survive_silent_streams();
  try {
    set_registry(std::move(own));
    Command command = read_command_line(argc, argv);
    call_process("steelyard");
    return std::visit(Overloaded{
                          [&](const LaunchOptions& it) { return run_cluster(it); },
                          [&](const SchedulerCommand& it) {
                            call_process("steelyard:sched");
                            return run_scheduler(it.options, read_job_file(it.job_file, it.overrides));
                          },
                          [&](const StandbyOptions& it) { return run_standby(it); },
                          [&](ServerCommand& it) {
                            call_process("steelyard:serve");
                            it.options.fingerprint = job_fingerprint(it.job_file);
                            return run_server(it.options);
                          },
                          [&](WorkerCommand& it) {
                            call_process("steelyard:work");
                            it.options.fingerprint = job_fingerprint(it.job_file);
                            return run_worker(it.options);
                          },
                          [&](const SimulateCommand& it) { return run_simulate(it); },
                          [&](const CompareCommand& it) { return run_compare(it); },
                          [&](const ReplayCommand& it) { return run_replay(it); },
                          [&](const PlanCommand& it) { return run_plan(it); },
                          [&](const ReportCommand& it) { return run_report(it); },
                          [&](const StatusCommand& it) { return run_status(it); },
                          [](const RunsCommand& it) { return run_runs(it); },
                          [](const AttendOptions& it) { return run_attend(it); },
                          [&](const ProfileCommand& it) { return run_profile(it); },
                          [](const DevicesCommand& it) { return run_devices(it); },
                          [](const TraceCommand& it) { return run_trace(it); },
                          [&](const JournalCommand& it) { return run_journal(it); },
                          [](const InspectCommand& it) { return run_inspect(it); },
                          [&](const EvalCommand& it) { return run_eval(it); },
                          [&](const PredictCommand& it) { return run_predict(it); },
                          [](const KeysCommand& it) { return run_keys(it); },
                          [](const TextCommand& it) {
                            std::fputs(it.text.c_str(), stdout);
                            return static_cast<int>(ExitCode::ok);
                          },
                      },
                      command);
  } catch (const Failure& failure) {
    standard_error().line("steelyard: " + shown_lines(failure.what()));
    return static_cast<int>(failure.code());
  } catch (const std::bad_alloc&) {
    standard_error().line(
        "steelyard: no memory is left: a smaller model or train.batch, more servers, or a larger machine");
    return static_cast<int>(ExitCode::failed);
  } catch (const std::exception& trouble) {
    standard_error().line("steelyard: " + shown_lines(trouble.what()));
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace steelyard
