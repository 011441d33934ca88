#include "app/tools/demo_command.h"

#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "app/report/run_directory.h"
#include "app/tools/compare_command.h"
#include "core/share.h"

namespace steelyard {
namespace {

// In a session of its own, so that the browser stays when this process exits.
void open_in_browser(const std::string& page) {
  std::string program = "xdg-open", file = page;
  const std::array<char*, 3> words{program.data(), file.data(), nullptr};
  posix_spawnattr_t detached;
  posix_spawnattr_init(&detached);
  posix_spawnattr_setflags(&detached, POSIX_SPAWN_SETSID);
  pid_t browser = 0;
  const int error = posix_spawnp(&browser, program.c_str(), nullptr, &detached, words.data(), environ);
  posix_spawnattr_destroy(&detached);
  if (error == 0) return;
  std::fprintf(stderr, "steelyard: --open: xdg-open cannot be run (%s): open %s in a browser\n",
               std::strerror(error), page.c_str());
}

}  // namespace

int run_demo(const DemoCommand& command) {
  CompareCommand compare;
  compare.files = {shared_file("jobs/digits.toml").string()};
  compare.overrides = command.overrides;
  compare.policies = "equal,lb-bsp,steelyard";
  compare.run_directory = fresh_directory(command.run_directory, "demo");
  compare.web = command.web;
  std::fputs(
      "Three workers learn handwritten digits. They are slowed down to 1/2, 1/4 and 1/8 of the speed of this "
      "machine.\nEach method trains the same samples: equal shares, two ways of balanced shares, and the "
      "fastest worker alone.\n",
      stderr);
  const int code = run_compare(compare);
  if (code == 0 && command.open) open_in_browser(compare.run_directory + "/compare.html");
  return code;
}

}  // namespace steelyard
