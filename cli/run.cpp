#include "cli/run.h"

#include <clocale>
#include <cstdio>
#include <exception>

#include "cli/command_line.h"
#include "cli/compare/compare.h"
#include "cli/launch/attend.h"
#include "cli/launch/launch.h"
#include "cli/profile/profile.h"
#include "cli/roles.h"
#include "cli/simulate.h"
#include "cli/terminal_text.h"
#include "cli/train.h"
#include "core/error.h"
#include "wire/machine.h"

namespace steelyard {

int run(int argc, char** argv, const Extensions& extensions) {
  std::setlocale(LC_ALL, "C");
  try {
    return std::visit(Overloaded{
                          [&](const TrainCommand& it) { return run_train(it, extensions); },
                          [&](const SchedulerCommand& it) { return run_scheduler(it, extensions); },
                          [&](const ServerCommand& it) { return run_server(it, extensions); },
                          [&](const WorkerCommand& it) { return run_worker(it, extensions); },
                          [&](const SimulateCommand& it) { return run_simulate(it, extensions); },
                          [&](const CompareCommand& it) { return run_compare(it, extensions); },
                          [](const LaunchCommand& it) { return run_launch(it); },
                          [](const AttendCommand& it) { return run_attend(it); },
                          [&](const ProfileCommand& it) { return run_profile(it, extensions); },
                          [](const TextCommand& it) {
                            std::fputs(it.text.c_str(), stdout);
                            return static_cast<int>(ExitCode::ok);
                          },
                      },
                      read_command_line(argc, argv));
  } catch (const Failure& failure) {
    std::fprintf(stderr, "steelyard: %s\n", shown_lines(failure.what()).c_str());
    return static_cast<int>(failure.code());
  } catch (const std::exception& trouble) {
    std::fprintf(stderr, "steelyard: %s\n", shown_lines(trouble.what()).c_str());
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace steelyard
