#include <steelyard/run.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include "app/cli/command_line.h"
#include "app/config/registry.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "core/error.h"

namespace steelyard {
namespace {

// The reader of our output may exit first (`| tee log` and Ctrl-C, `| head`); ignoring SIGPIPE lets the job
// continue and save. Children inherit this. Closed standard streams are opened on /dev/null, so that no file
// opened later gets their number.
void survive_silent_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (int file = open("/dev/null", O_RDWR); file >= 0; file = dup(file)) {
    if (file <= STDERR_FILENO) continue;
    close(file);
    break;
  }
}

}  // namespace

void call_process(const char* name) { prctl(PR_SET_NAME, name); }

int run(int argc, char** argv, Registry own) {
  std::setlocale(LC_ALL, "C");
  survive_silent_streams();
  try {
    set_registry(std::move(own));
    const Command command = read_command_line(argc, argv);
    call_process("steelyard");
    return command();
  } catch (const Failure& failure) {
    standard_error().line("steelyard: " + shown_lines(failure.what()), LogLevel::error);
    return static_cast<int>(failure.code());
  } catch (const std::bad_alloc&) {
    standard_error().line(
        "steelyard: out of memory: use a smaller model or train.batch, more servers, or a larger machine",
        LogLevel::error);
    return static_cast<int>(ExitCode::failed);
  } catch (const std::exception& trouble) {
    standard_error().line("steelyard: " + shown_lines(trouble.what()), LogLevel::error);
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace steelyard
