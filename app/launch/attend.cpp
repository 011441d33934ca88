#include "app/launch/attend.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "app/launch/local_host.h"
#include "app/processes/signals.h"
#include "core/error.h"

namespace steelyard {
namespace {

constexpr Duration attend_tick = std::chrono::milliseconds(20);
constexpr Duration grace = std::chrono::seconds(10);  // for the scheduler to end the job
constexpr Duration attend_farewell = std::chrono::seconds(5);

}  // namespace

int run_attend(const AttendOptions& options) {
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) {
    throw Failure(ExitCode::configuration,
                  "there is no directory " + options.directory +
                      " to run in: make it, or correct directory = in the hosts file");
  }
  std::atomic<bool> told_to_end = false;
  const SignalWatch signals([&](int) { told_to_end = true; }, {});
  LineReader in(Descriptor(dup(STDIN_FILENO)), longest_launch_line);
  LineWriter out(Descriptor(dup(STDOUT_FILENO)));
  LocalHost host;
  Time heard = steady_now(), timeout = Time::max();  // when whoever is left is asked, then killed
  for (bool ending = false, asked = false;; std::this_thread::sleep_for(attend_tick)) {
    const Time now = steady_now();
    for (const std::string& line : in.read()) {
      heard = now;
      const std::optional<ToHost> message = to_host(line);
      if (message && !ending) host.tell(*message);
    }
    const bool over = host.over();
    for (const FromHost& message : host.hear(now)) out.add(to_line(message));
    out.flush();
    const bool alone = in.ended() || out.broken() || now - heard > from_seconds(options.silence);
    if (ending && over) return static_cast<int>(ExitCode::ok);
    if (!ending && (told_to_end || alone)) {
      ending = true;
      timeout = now + grace;
      host.tell(SignalProcess{"scheduler", SIGTERM});
    }
    if (now > timeout) {
      if (asked) return static_cast<int>(ExitCode::ok);  // and who is left is killed
      host.signal_all(SIGTERM);
      asked = true;
      timeout = now + attend_farewell;
    }
  }
}

}  // namespace steelyard
